import { describe, expect, it, test } from 'vitest';
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

type Name = (entry: Entry) => Record<string, unknown>;

/** A message without its session. */
const shown = ({ id, role, text }: Entry) => ({ id, role, text, created_at: `2026-01-01T00:00:0${id.slice(1)}Z` });

/** A history that filters by one query parameter, and ignores any other. */
function historyBy(parameter: string, name: Name = () => ({}), entries = ENTRIES) {
  return ({ query }: FakeRequest, response: Parameters<typeof sendJson>[0]) => {
    const wanted = query.get(parameter);
    const own = entries.filter(({ session }) => wanted === null || wanted === session);
    const results = own.map((entry) => ({ ...shown(entry), ...name(entry) }));
    sendJson(response, { results });
  };
}

async function serve(history: ReturnType<typeof historyBy>, source = 'src') {
  const fake = await startFakeService({ [`GET ${HISTORY}`]: history, 'GET *': json([]) });
  const env = { PARTNER_BASE_URL: fake.baseUrl, PARTNER_TOKEN: 'test-token', HOME: tempDirectory() };
  const args = ['chat', 'tail', '--source', source, '--session', 't-1', '--no-follow', '-o', 'json'];
  const tail = () => run(args, { env, clock: fasterClock(5) });
  const command = (...argv: readonly string[]) => run(argv, { env, clock: fasterClock(5) });
  return { fake, tail, command };
}

const texts = (stdout: string) =>
  stdout
    .split('\n')
    .filter(Boolean)
    .map((line): unknown => JSON.parse(line).text);

const NAMES: readonly (readonly [string, Name])[] = [
  ['session_id', ({ session }) => ({ session_id: session })],
  ['sessionId', ({ session }) => ({ sessionId: session })],
  ['session-id', ({ session }) => ({ 'session-id': session })],
];

const FIELD = 'messages.history.session_id';

describe('a history that ignores which session is requested', () => {
  it.each(NAMES)('shows no message of others, if there are only those, with %s', async (_, name) => {
    const { tail } = await serve(historyBy('sess', name, ENTRIES.slice(1, 2)));
    expect(await tail()).toMatchObject({ code: 8, stdout: '' });
  });

  it('shows no message, if the contract says where its messages name the session', async () => {
    const { tail, command } = await serve(historyBy('sess', ({ session }) => ({ thread: { key: session } })));
    await command('contract', 'set', 'message.session_id', 'thread.key');
    expect(await tail()).toMatchObject({ code: 8, stdout: '' });
    await command('contract', 'set', FIELD, 'none');
    expect(texts((await tail()).stdout)).toEqual(['Hello', 'Hi']);
  });

  it('is refused with the name of the field in the place where the contract puts the session', async () => {
    const post = `POST ${HISTORY}`;
    const foreign = ENTRIES.slice(1, 2).map((entry) => ({ ...shown(entry), session_id: entry.session }));
    const service = await startFakeService({ [post]: json({ results: foreign }) });
    const env = { PARTNER_BASE_URL: service.baseUrl, PARTNER_TOKEN: 'test-token', HOME: tempDirectory() };
    await run(['contract', 'set', 'messages.history', post, FIELD, 'body:sess'], { env });
    const args = ['chat', 'tail', '--source', 'src', '--session', 't-1', '--no-follow'];
    const ran = await run(args, { env, clock: fasterClock(5) });
    expect(ran).toMatchObject({ code: 8, stderr: expect.stringContaining(`contract set ${FIELD} body:session_id`) });
  });

  it('takes one request: nothing is tried out', async () => {
    const { fake, tail } = await serve(historyBy('sess', ({ session }) => ({ session_id: session })));
    await tail();
    expect(new Set(fake.requests.map(({ path }) => path)).size).toBe(1);
  });

  test.each([
    ['nothing', () => ({})],
    ['another name', ({ session }: Entry) => ({ conversation: session })],
    ['session_id', ({ session }: Entry) => ({ session_id: session })],
  ])('is contradicted by contract check, with messages that name the session with %s', async (_, name) => {
    const { command } = await serve(historyBy('sess', name));
    const checked = await command('contract', 'check', '--source', 'src', '--session', 't-1', '-o', 'json');
    expect(checked.code).toBe(8);
    expect(checked.json()).toContainEqual(expect.objectContaining({ leaf: FIELD, result: 'contradicted' }));
  });
});

describe('a history that heeds the session', () => {
  const check = async (history: ReturnType<typeof historyBy>) => {
    const { command } = await serve(history);
    const checked = await command('contract', 'check', '--source', 'src', '--session', 't-1', '-o', 'json');
    return checked.json<{ leaf: string; result: string }[]>().find(({ leaf }) => leaf === FIELD)?.result;
  };

  it('is read without any other request', async () => {
    const { fake, tail } = await serve(historyBy('session_id'));
    expect(texts((await tail()).stdout)).toEqual(['Hello', 'Hi']);
    expect(fake.requests.every(({ query }) => query.get('session_id') === 't-1')).toBe(true);
  });

  test('is confirmed by contract check', async () => {
    for (const name of [() => ({}), ({ session }: Entry) => ({ session_id: session })])
      expect(await check(historyBy('session_id', name))).toBe('confirmed');
  });

  test.each([
    [400, 'confirmed'],
    [404, 'confirmed'],
    [422, 'confirmed'],
    [401, 'unobservable'],
    [403, 'unobservable'],
    [429, 'unobservable'],
    [500, 'unobservable'],
  ])('that answers %i for a session that does not exist is %s by contract check', async (status, result) => {
    const own = historyBy('session_id');
    const checked = await check((request, response) => {
      if (request.query.get('session_id') === 't-1') own(request, response);
      else sendJson(response, { code: 'unknown_session', message: 'There is no such session.' }, status);
    });
    expect(checked).toBe(result);
  });

  test('may greet in every session with the same message, and is confirmed', async () => {
    const greeting = { id: 'welcome', role: 'assistant', text: 'Welcome', created_at: '2026-01-01T00:00:00Z' };
    const result = await check(({ query }, response) => {
      const own = ENTRIES.filter(({ session }) => session === query.get('session_id'));
      sendJson(response, { results: [greeting, ...own.map(shown)] });
    });
    expect(result).toBe('confirmed');
  });
});

describe('a history that spells the id of the source otherwise', () => {
  const source = '28bc12d5-654c-441e-a0ab-d8e97fa572ea';

  it.each([source.toUpperCase(), source.replaceAll('-', ''), `{${source}}`])(
    'shows its messages: %s',
    async (spelled) => {
      const { tail } = await serve(
        historyBy('session_id', ({ session }) => ({ session_id: session, source_id: spelled })),
        source,
      );
      expect(texts((await tail()).stdout)).toEqual(['Hello', 'Hi']);
    },
  );

  it('shows no message of another source', async () => {
    const other = source.replace('28', '29');
    const { tail } = await serve(
      historyBy('session_id', () => ({ source_id: other })),
      source,
    );
    expect(await tail()).toMatchObject({ code: 8, stdout: '' });
  });
});
