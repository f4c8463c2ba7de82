import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createChat, parseLines } from '../support/chat.ts';
import { IS_SAMPLE, type KilledRun, killEverywhere, killWays, type PrepareRun, stageCounter } from '../support/kill.ts';
import { run, tempDirectory } from '../support/run.ts';
import { service as startService } from '../support/service.ts';

const WAYS = killWays();

async function setUp() {
  const service = await startService();
  const chat = await createChat(service);
  return { service, chat, directory: tempDirectory(), baseUrl: service.env.PARTNER_BASE_URL ?? '' };
}

/** With an id of one's own, a send can be repeated whatever became of it. */
describe.each([
  ['chat send', []],
  ['chat send --wait', ['--wait']],
])('kill -9 of %s --external-id, repeated', (name, more) => {
  const reached = stageCounter<string>();

  test.each(WAYS)('at each %s', async (_, way) => {
    const { service, chat, directory, baseUrl } = await setUp();
    const prepare: PrepareRun<string> = async (session, address) => {
      const path = join(directory, `${session}.jsonl`);
      const env = { ...service.env, PARTNER_BASE_URL: address };
      const ids = ['--source', chat.source_id, '--session', session, '--external-id', `id-${session}`];
      const args = ['chat', 'send', ...ids, ...more, 'Hello!', '-o', 'json', '--state', path];
      const registered = async () =>
        (await chat.history({ session_id: session })).filter(({ role }) => role === 'user').length;
      const stageOf = async ({ stdout }: KilledRun) => {
        if (stdout.endsWith('}\n')) return 'told';
        return (await registered()) === 0 ? 'nothing yet' : 'registered';
      };
      const finish = async () => {
        const ran = await run(args, { env });
        expect(ran.code, ran.stderr).toBe(0);
        return (await registered()) - 1;
      };
      return { args, env, path, stageOf, finish };
    };
    reached.add(await killEverywhere({ name, baseUrl, prepare }, way));
  });

  test.skipIf(IS_SAMPLE)('covers every stage of sending', () => {
    reached.expectEach('nothing yet', 'registered', 'told');
  });
});

const MESSAGES = 5;

describe('kill -9 of chat tail --resume, resumed', () => {
  const seen = new Set<string>();

  test.each(WAYS)('at each %s, loses nothing and repeats at most the last line', async (_, way) => {
    const { service, chat, directory, baseUrl } = await setUp();
    const prepare: PrepareRun<string> = async (session_id, address) => {
      const path = join(directory, `${session_id}.jsonl`);
      const env = { ...service.env, PARTNER_BASE_URL: address };
      const ids = ['--source', chat.source_id, '--session', session_id];
      const args = ['chat', 'tail', ...ids, '--resume', '--no-follow', '-o', 'json', '--state', path];
      const body = { source_id: chat.source_id, session_id, role: 'assistant', text: 'm{n}', count: MESSAGES };
      expect((await service.admin('POST', '/messages', body)).status).toBe(201);
      let first = '';
      const stageOf = async ({ stdout }: KilledRun) => {
        first = stdout;
        return `${parseLines(stdout).length} of ${MESSAGES} lines`;
      };
      const finish = async () => {
        const rest = await run(args, { env });
        expect(rest.code, rest.stderr).toBe(0);
        const [shown = [], more = []] = [first, rest.stdout].map((out) =>
          parseLines(out).map((line) => line.message_id),
        );
        const existing = (await chat.history({ session_id })).map(({ message_id }) => message_id);
        // The killed run may not have saved its place after its last line.
        const isRepeated = shown.length > 0 && more[0] === shown.at(-1);
        expect([...shown, ...more.slice(isRepeated ? 1 : 0)]).toEqual(existing);
        return 0;
      };
      return { args, env, path, stageOf, finish };
    };
    const stages = await killEverywhere({ name: 'chat tail --resume', baseUrl, prepare }, way);
    for (const stage of stages.keys()) seen.add(stage);
  });

  test('covers the points before, between, and after the lines', () => {
    const [none, all] = [0, MESSAGES].map((count) => `${count} of ${MESSAGES} lines`);
    expect(seen).toContain(none);
    expect(seen).toContain(all);
    // Which of the lines a kill comes between depends on how many of them a write contains.
    expect(seen.size).toBeGreaterThan(2);
  });
});
