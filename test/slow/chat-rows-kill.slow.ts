import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Chat, createChat } from '../support/chat.ts';
import { startKillProxy } from '../support/kill.ts';
import { start } from '../support/program.ts';
import { tempDirectory } from '../support/run.ts';
import { type Service, service, write } from '../support/service.ts';

const ROWS = 500;
const SESSIONS = 20;

interface Row {
  readonly session_id: string;
  readonly text: string;
  readonly external_message_id?: string;
}

/** Rows with mixed sessions; some have an id, and many have the same text as another one of their session. */
const rows: readonly Row[] = Array.from({ length: ROWS }, (_, index) => ({
  session_id: `s${(index * 7 + Math.floor(index / 3)) % SESSIONS}`,
  text: index % 5 === 0 ? 'the same' : `row ${index}`,
  ...(index % 11 === 0 && { external_message_id: `own-${index}` }),
}));

interface Place {
  readonly sandbox: Service;
  readonly chat: Chat;
  readonly args: readonly string[];
  readonly state: string;
}

async function prepare(state: string): Promise<Place> {
  const sandbox = await service();
  const chat = await createChat(sandbox);
  const path = write('rows.ndjson', rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const args = ['chat', 'send', '--rows', path, '--source', chat.source_id, '-o', 'ndjson', '--state', state];
  return { sandbox, chat, args, state };
}

/** Checks that each row is one message, and those of a session are in the order of their rows. */
async function expectRowsOnce({ chat }: Place): Promise<void> {
  for (let index = 0; index < SESSIONS; index += 1) {
    const session_id = `s${index}`;
    const sent = (await chat.history({ session_id })).filter(({ role }) => role === 'user');
    expect(sent.map(({ text }) => text)).toEqual(
      rows.filter((row) => row.session_id === session_id).map(({ text }) => text),
    );
  }
}

const STAGES = ['arrived', 'processed', 'answered'] as const;

/** When to kill a run: at its N-th message, when that arrived, was registered, or was answered. */
const POINTS = [1, 3, 60, 20, 45, 8, 70, 35, 50, 90].map(
  (nth, index) => [nth, STAGES[index % STAGES.length] ?? 'arrived'] as const,
);

const count = (stdout: string, status: string): number => stdout.split(`"status":"${status}"`).length - 1;

test('500 rows are each one message, in order per session, if the run is killed ten times', async () => {
  const place = await prepare(join(tempDirectory(), 'state.jsonl'));
  const { env, sandbox } = place.sandbox;
  const killing = await startKillProxy(sandbox.baseUrl);
  const behind = { ...env, PARTNER_BASE_URL: killing.baseUrl };
  const skipped: number[] = [];
  for (const [nth, stage] of POINTS) {
    const killed = await killing.runAt({ args: place.args, env: behind }, nth, stage);
    expect(killed.signal, killed.stderr).toBe('SIGKILL');
    skipped.push(count(killed.stdout, 'skipped'));
  }
  // The next run does not send what a run recorded before it was killed.
  expect(skipped.at(-1)).toBeGreaterThan(0);
  const last = await start(place.args, { env });
  expect(last.exitCode, last.stderr).toBe(0);
  expect(count(last.stdout, 'sent') + count(last.stdout, 'skipped')).toBe(ROWS);
  await expectRowsOnce(place);
  const ids = last.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).message_id);
  expect(new Set(ids).size).toBe(ROWS);
  await place.sandbox.forget();
  const again = await start(place.args, { env });
  expect(count(again.stdout, 'skipped')).toBe(ROWS);
  expect(await place.sandbox.received()).toEqual([]);
});
