import { describe, expect, it, test } from 'vitest';
import { type FakeRequest, json, sendJson, startFakeService } from '../support/fake-service.ts';
import { fasterClock, run, tempDirectory } from '../support/run.ts';

const HISTORY = 'GET /integrations/api-chat/history/';

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
  const fake = await startFakeService({ [HISTORY]: history, 'GET *': json([]) });
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

const NUMBERS: Readonly<Record<string, number>> = { 't-1': 17, 't-2': 18 };

const NAMES: readonly (readonly [string, Name])[] = [
  ['session', ({ session }) => ({ session })],
  ['conversation_id', ({ session }) => ({ conversation_id: session })],
  ['thread', ({ session }) => ({ thread: session })],
  ['chat_session_id', ({ session }) => ({ chat_session_id: session })],
  ['sessionKey', ({ session }) => ({ sessionKey: session })],
  ['session.id', ({ session }) => ({ session: { id: session } })],
  ['session.key', ({ session }) => ({ session: { id: NUMBERS[session], key: session } })],
  ['metadata.session_id', ({ session }) => ({ metadata: { session_id: session } })],
  ['conversation_id, a number of the service', ({ session }) => ({ conversation_id: NUMBERS[session] })],
  ['nothing', () => ({})],
];

/** Those whose messages name their session in some way. */
const NAMED = NAMES.filter(([name]) => name !== 'nothing');

describe('a history that ignores which session is requested', () => {
  it('is shown with a warning if its messages do not name their session: there may be only one', async () => {
    const { tail, command } = await serve(historyBy('sess'));
    const doubtful = await tail();
    expect(texts(doubtful.stdout)).toEqual(['Hello', 'CONFIDENTIAL', 'Hi', 'CONFIDENTIAL']);
    expect(doubtful.code).toBe(0);
    expect(doubtful.stderr.match(/warning: The history ignores which session is requested/g)).toHaveLength(1);
    expect(doubtful.stderr).toContain("partnerctl contract set messages.history.session_id 'query:<name>'");
    await command('contract', 'set', 'messages.history.session_id', 'query:sess');
    expect(await tail()).toMatchObject({ stderr: '' });
  });

  it.each(NAMED)('shows no message, if its messages name the session with %s', async (_, name) => {
    const { tail, command } = await serve(historyBy('sess', name));
    const refused = await tail();
    expect(refused).toMatchObject({ code: 8, stdout: '' });
    expect(refused.error().hint).toContain('partnerctl contract set messages.history.session_id');
    await command('contract', 'set', 'messages.history.session_id', 'query:sess');
    expect(texts((await tail()).stdout)).toEqual(['Hello', 'Hi']);
  });

  it.each(NAMED)('shows no message of others, if there are only those, with %s', async (_, name) => {
    const { tail } = await serve(historyBy('sess', name, ENTRIES.slice(1, 2)));
    expect(await tail()).toMatchObject({ code: 8, stdout: '' });
  });

  it.each(NAMES)('is requested by the customary name that it heeds, with %s', async (_, name) => {
    const { tail } = await serve(historyBy('conversation_id', name));
    expect(texts((await tail()).stdout)).toEqual(['Hello', 'Hi']);
  });

  it('is read by the customary name that it heeds, also while no message follows the one to read after', async () => {
    const { command } = await serve(({ query }, response) => {
      const [session, after] = [query.get('session'), query.get('after_message_id')];
      const own = ENTRIES.filter((entry) => session === null || session === entry.session);
      const rest = session === null ? own : own.slice(own.findIndex(({ id }) => id === after) + 1);
      sendJson(response, { results: rest.map((entry) => ({ ...shown(entry), session: entry.session })) });
    });
    const place = ['--source', 'src', '--session', 't-1', '--after', 'm3', '--timeout', '2s'];
    expect(await command('chat', 'wait', ...place)).toMatchObject({ code: 11, stdout: '' });
  });

  it('is not believed because of a name that was set, if its messages are of several sessions', async () => {
    const { tail, command } = await serve(historyBy('sess', ({ session }) => ({ conversation: NUMBERS[session] })));
    await command('contract', 'set', 'messages.history.session_id', 'query:conversation');
    expect(await tail()).toMatchObject({ code: 8, stdout: '' });
  });

  test('is contradicted by contract check', async () => {
    const { command } = await serve(historyBy('sess'));
    const checked = await command('contract', 'check', '--source', 'src', '--session', 't-1', '-o', 'json');
    expect(checked.code).toBe(8);
    expect(checked.json()).toContainEqual(
      expect.objectContaining({ leaf: 'messages.history.session_id', result: 'contradicted' }),
    );
  });
});

describe('a history that heeds the session', () => {
  it.each(NAMES)('is checked at most once, if its messages name the session with %s', async (_, name) => {
    const { fake, tail, command } = await serve(historyBy('session_id', name));
    for (const _run of [1, 2]) expect(texts((await tail()).stdout)).toEqual(['Hello', 'Hi']);
    const isNamed = ENTRIES.slice(0, 1).some((entry) => JSON.stringify(name(entry)).includes('t-1'));
    const checks = fake.requests.filter(({ query }) => query.get('session_id') !== 't-1');
    expect(checks).toHaveLength(isNamed ? 0 : 1);
    const shown = await command('contract', 'show', 'messages.history.session_id', '-o', 'json');
    expect(shown.json()).toMatchObject([{ source: isNamed ? 'assumed' : 'observed' }]);
  });

  it.each([400, 403, 404, 422])('is proved if it refuses other sessions with %i', async (status) => {
    const own = historyBy('session_id');
    const { tail } = await serve((request, response) => {
      if (request.query.get('session_id') === 't-1') own(request, response);
      else sendJson(response, { code: 'unknown_session', message: 'There is no such session.' }, status);
    });
    expect(texts((await tail()).stdout)).toEqual(['Hello', 'Hi']);
  });

  it.each([500, 503, 429, 401])('is read, unproved, if a check of another session fails with %i', async (status) => {
    const own = historyBy('session_id');
    const { tail, command } = await serve((request, response) => {
      if (request.query.get('session_id') === 't-1') own(request, response);
      else sendJson(response, { message: 'Not now.' }, status);
    });
    expect(await tail()).toMatchObject({ code: 0, stderr: '' });
    const shown = await command('contract', 'show', 'messages.history.session_id', '-o', 'json');
    expect(shown.json()).toMatchObject([{ source: 'assumed' }]);
  });

  it('may greet in every session with the same message', async () => {
    const greeting = { id: 'welcome', role: 'assistant', text: 'Welcome', created_at: '2026-01-01T00:00:00Z' };
    const { tail } = await serve(({ query }, response) => {
      const own = ENTRIES.filter(({ session }) => session === query.get('session_id'));
      sendJson(response, { results: [greeting, ...own.map(shown)] });
    });
    expect(texts((await tail()).stdout)).toEqual(['Welcome', 'Hello', 'Hi']);
  });

  it('may hold several threads', async () => {
    const { tail } = await serve(historyBy('session_id', ({ id }) => ({ thread_id: id })));
    expect(texts((await tail()).stdout)).toEqual(['Hello', 'Hi']);
  });

  test('is confirmed by contract check', async () => {
    for (const name of [() => ({}), ({ session }: Entry) => ({ session_id: session })]) {
      const { command } = await serve(historyBy('session_id', name));
      const checked = await command('contract', 'check', '--source', 'src', '--session', 't-1', '-o', 'json');
      expect(checked.json()).toContainEqual(
        expect.objectContaining({ leaf: 'messages.history.session_id', result: 'confirmed' }),
      );
    }
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
