import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createChat } from '../support/chat.ts';
import { startKillProxy } from '../support/kill.ts';
import { start } from '../support/program.ts';
import { tempDirectory } from '../support/run.ts';
import { service, write } from '../support/service.ts';

const ROWS = 500;
const SESSIONS = 20;

/** Rows with mixed sessions; some have an id, and many have the same text as another one of their session. */
const rows = Array.from({ length: ROWS }, (_, index) => ({
  session_id: `s${(index * 7 + Math.floor(index / 3)) % SESSIONS}`,
  text: index % 5 === 0 ? 'the same' : `row ${index}`,
  ...(index % 11 === 0 && { external_message_id: `own-${index}` }),
}));

/** At which message to kill a run. */
const POINTS = [1, 3, 60, 20, 45, 8, 70, 35, 50, 90];

const count = (stdout: string, status: string): number => stdout.split(`"status":"${status}"`).length - 1;

test('500 rows are each one message, in order per session, if the run is killed ten times', async () => {
  const opened = await service();
  const chat = await createChat(opened);
  const path = write('rows.ndjson', rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const args = ['chat', 'send', '--rows', path, '--source', chat.source_id, '-o', 'ndjson'];
  const env = { ...opened.env, PARTNER_STATE: join(tempDirectory(), 'state.jsonl') };
  const proxies = await Promise.all(
    (['arrived', 'processed', 'answered'] as const).map((stage) => startKillProxy(opened.sandbox.baseUrl, stage)),
  );
  let skipped = 0;
  for (const [index, nth] of POINTS.entries()) {
    const proxy = proxies[index % proxies.length];
    const killed = await proxy?.runAt({ args, env: { ...env, PARTNER_BASE_URL: proxy.baseUrl } }, nth);
    expect(killed?.signal, killed?.stderr).toBe('SIGKILL');
    skipped = count(killed?.stdout ?? '', 'skipped');
  }
  // The next run does not send what a run recorded before it was killed.
  expect(skipped).toBeGreaterThan(0);
  const last = await start(args, { env });
  expect(last.exitCode, last.stderr).toBe(0);
  expect(count(last.stdout, 'sent') + count(last.stdout, 'skipped')).toBe(ROWS);
  for (let index = 0; index < SESSIONS; index += 1) {
    const own = rows.filter(({ session_id }) => session_id === `s${index}`);
    const sent = (await chat.history({ session_id: `s${index}` })).filter(({ role }) => role === 'user');
    expect(sent.map(({ text }) => text)).toEqual(own.map(({ text }) => text));
  }
});
