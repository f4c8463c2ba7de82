import { expect } from 'vitest';
import { createChat, parseLines } from '../support/chat.ts';
import { type KilledRun, testKills } from '../support/kill.ts';
import { type Ran, run } from '../support/run.ts';
import { write } from '../support/service.ts';

async function finished(args: readonly string[], env: Record<string, string>): Promise<Ran> {
  const ran = await run(args, { env });
  expect(ran.code, ran.stderr).toBe(0);
  return ran;
}

/** With an id of one's own, a send can be repeated whatever became of it. */
testKills({
  name: 'chat send --external-id --wait',
  title: 'sends the message once if it is repeated',
  stages: ['nothing yet', 'registered', 'told'],
  prepareOn: async (sandbox) => {
    const chat = await createChat(sandbox);
    return async (session, env) => {
      const ids = ['--source', chat.source_id, '--session', session, '--external-id', `id-${session}`, '--wait'];
      const args = ['chat', 'send', ...ids, 'Hello!', '-o', 'json'];
      const registered = async () =>
        (await chat.history({ session_id: session })).filter(({ role }) => role === 'user').length;
      const stageOf = async ({ stdout }: KilledRun) => {
        if (stdout.endsWith('}\n')) return 'told';
        return (await registered()) === 0 ? 'nothing yet' : 'registered';
      };
      const finish = async () => {
        await finished(args, env);
        return (await registered()) - 1;
      };
      return { args, env, stageOf, finish };
    };
  },
});

const MESSAGES = 5;

testKills({
  name: 'chat tail --resume',
  title: 'loses nothing and repeats at most the last line if it is resumed',
  stages: ['before the lines', 'between the lines', 'after the lines'],
  prepareOn: async (sandbox) => {
    const chat = await createChat(sandbox);
    return async (session_id, env) => {
      const ids = ['--source', chat.source_id, '--session', session_id];
      const args = ['chat', 'tail', ...ids, '--resume', '--no-follow', '-o', 'json'];
      const body = { source_id: chat.source_id, session_id, role: 'assistant', text: 'm{n}', count: MESSAGES };
      expect((await sandbox.admin('POST', '/messages', body)).status).toBe(201);
      let shown: string[] = [];
      const idsIn = (stdout: string): string[] => parseLines(stdout).map(({ message_id }) => message_id);
      const stageOf = async ({ stdout }: KilledRun) => {
        shown = idsIn(stdout);
        if (shown.length === 0) return 'before the lines';
        return shown.length < MESSAGES ? 'between the lines' : 'after the lines';
      };
      const finish = async () => {
        const more = idsIn((await finished(args, env)).stdout);
        const existing = (await chat.history({ session_id })).map(({ message_id }) => message_id);
        // The killed run may not have saved its place after its last line.
        const isRepeated = shown.length > 0 && more[0] === shown.at(-1);
        expect([...shown, ...more.slice(isRepeated ? 1 : 0)]).toEqual(existing);
        return 0;
      };
      return { args, env, stageOf, finish };
    };
  },
});

/** Two sessions in turn; some rows have an id, and two of a session have the same text. */
const ROWS = ['the same', 'row 1', 'the same', 'row 3', 'row 4', 'row 5'];

testKills({
  name: 'chat send --rows',
  title: 'makes each row one message, in order per session, if it is repeated',
  stages: ['nothing yet', 'some rows', 'all rows'],
  prepareOn: async (sandbox) => {
    const chat = await createChat(sandbox);
    return async (label, env) => {
      const rows = ROWS.map((text, index) => ({
        session_id: `${label}-${index % 2}`,
        text,
        ...(index % 3 === 0 && { external_message_id: `${label}-own-${index}` }),
      }));
      const path = write('rows.ndjson', rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
      const args = ['chat', 'send', '--rows', path, '--source', chat.source_id, '-o', 'ndjson'];
      const count = (stdout: string, status: string): number => stdout.split(`"status":"${status}"`).length - 1;
      const sentTo = async (session_id: string) =>
        (await chat.history({ session_id })).filter(({ role }) => role === 'user').map(({ text }) => text);
      let told = 0;
      const stageOf = async ({ stdout }: KilledRun) => {
        told = count(stdout, 'sent');
        if (told === ROWS.length) return 'all rows';
        return (await sentTo(`${label}-0`)).length === 0 ? 'nothing yet' : 'some rows';
      };
      const finish = async () => {
        const { stdout } = await finished(args, env);
        // What a run said to be sent was recorded before.
        expect(count(stdout, 'skipped')).toBeGreaterThanOrEqual(told);
        expect(count(stdout, 'sent') + count(stdout, 'skipped')).toBe(ROWS.length);
        expect(new Set(parseLines(stdout).map(({ message_id }) => message_id)).size).toBe(ROWS.length);
        expect(count((await finished(args, env)).stdout, 'skipped')).toBe(ROWS.length);
        for (const session of [`${label}-0`, `${label}-1`]) {
          const wanted = rows.filter(({ session_id }) => session_id === session).map(({ text }) => text);
          expect(await sentTo(session)).toEqual(wanted);
        }
        return 0;
      };
      return { args, env, stageOf, finish };
    };
  },
});
