import { describe, expect, test } from 'vitest';
import { HISTORY } from '../support/chat.ts';
import { type FakeRequest, json, sendJson, startFakeService } from '../support/fake-service.ts';
import { fasterClock, run, tempDirectory } from '../support/run.ts';

interface Entry {
  readonly id: string;
  readonly session: string;
  readonly role: string;
  readonly text: string;
}

const ENTRIES: readonly Entry[] = [
  { id: 'm1', session: 't-1', role: 'user', text: 'Hello' },
  { id: 'm2', session: 't-2', role: 'user', text: 'CONFIDENTIAL' },
  { id: 'm3', session: 't-1', role: 'assistant', text: 'Hi' },
  { id: 'm4', session: 't-2', role: 'assistant', text: 'CONFIDENTIAL' },
];
const FIELD = 'messages.history.session_id';

type Name = (entry: Entry) => Record<string, unknown>;
type History = (request: FakeRequest, response: Parameters<typeof sendJson>[0]) => void;

/** A message without its session. */
const shown = ({ id, role, text }: Entry) => ({ id, role, text, created_at: `2026-01-01T00:00:0${id.slice(1)}Z` });

/** A history that filters by one query parameter, and ignores any other. */
function historyBy(parameter: string, name: Name = () => ({})): History {
  return ({ query }, response) => {
    const wanted = query.get(parameter);
    const own = ENTRIES.filter(({ session }) => wanted === null || wanted === session);
    sendJson(response, { results: own.map((entry) => ({ ...shown(entry), ...name(entry) })) });
  };
}

async function serve(history: History) {
  const fake = await startFakeService({ [`GET ${HISTORY}`]: history, 'GET *': json([]) });
  const env = { PARTNER_BASE_URL: fake.baseUrl, PARTNER_TOKEN: 'test-token', HOME: tempDirectory() };
  const session = ['--source', 'src', '--session', 't-1'];
  const command = (...argv: readonly string[]) => run(argv, { env, clock: fasterClock(5) });
  return {
    fake,
    command,
    tail: () => command('chat', 'tail', ...session, '--no-follow', '--from-start', '-o', 'json'),
    /** The code of `contract check`, and what it says of the session. */
    check: async () => {
      const ran = await command('contract', 'check', ...session, '-o', 'json');
      const checks = ran.json<{ leaf: string; result: string }[]>();
      return [ran.code, checks.find(({ leaf }) => leaf === FIELD)?.result];
    },
  };
}

const texts = (stdout: string) =>
  stdout
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line).text);

describe('a history that ignores which session is requested', () => {
  test('shows no message, in one request, until the contract says that it has those of all sessions', async () => {
    const { fake, tail, command } = await serve(historyBy('sess', ({ session }) => ({ thread: { key: session } })));
    await command('contract', 'set', 'message.session_id', 'thread.key');
    expect(await tail()).toMatchObject({ code: 8, stdout: '' });
    expect(fake.requests).toHaveLength(1);
    await command('contract', 'set', FIELD, 'none');
    expect(texts((await tail()).stdout)).toEqual(['Hello', 'Hi']);
  });

  test('is contradicted by contract check, whether or not the messages name their session', async () => {
    expect(await (await serve(historyBy('sess'))).check()).toEqual([8, 'contradicted']);
    const named = historyBy('sess', ({ session }) => ({ session_id: session }));
    expect(await (await serve(named)).check()).toEqual([8, 'contradicted']);
  });
});

describe('a history that heeds the session', () => {
  test('is read without any other request, and confirmed by contract check', async () => {
    const { fake, tail, check } = await serve(historyBy('session_id'));
    expect(texts((await tail()).stdout)).toEqual(['Hello', 'Hi']);
    expect(fake.requests.every(({ query }) => query.get('session_id') === 't-1')).toBe(true);
    expect(await check()).toEqual([0, 'confirmed']);
  });

  test.each([
    [404, 'confirmed'],
    [500, 'unobservable'],
  ])('that answers %i for a session that does not exist is %s by contract check', async (status, result) => {
    const own = historyBy('session_id');
    const { check } = await serve((request, response) => {
      if (request.query.get('session_id') === 't-1') own(request, response);
      else sendJson(response, { code: 'unknown_session', message: 'There is no such session.' }, status);
    });
    expect(await check()).toEqual([0, result]);
  });
});
