import { describe, expect, it } from 'vitest';
import { type FakeRequest, json, sendJson, startFakeService } from '../support/fake-service.ts';
import { fasterClock, type RunOptions, run, tempDirectory } from '../support/run.ts';

const HISTORY = '/integrations/api-chat/history/';

interface Entry {
  readonly id: string;
  readonly sessionId?: string;
  readonly text: string;
  readonly role: string;
  readonly created_at?: string;
}

const ENTRIES: readonly Entry[] = [
  { id: 'm1', sessionId: 's1', role: 'user', text: 'Hello' },
  { id: 'm2', sessionId: 's2', role: 'user', text: 'Not yours' },
  { id: 'm3', sessionId: 's1', role: 'assistant', text: 'Hi' },
];

async function tailOf(script: Parameters<typeof startFakeService>[0], home = tempDirectory()) {
  const fake = await startFakeService(script, { heedsSession: true });
  const env = { PARTNER_BASE_URL: fake.baseUrl, PARTNER_TOKEN: 'test-token', HOME: home };
  const args = ['chat', 'tail', '--source', 'src', '--session', 's1', '--no-follow', '-o', 'json'];
  const tail = (options: RunOptions = {}) => run(args, { env, clock: fasterClock(5), ...options });
  return { fake, env, tail };
}

/** The texts of the messages that a tail printed. */
const texts = (stdout: string) =>
  stdout
    .split('\n')
    .filter(Boolean)
    .map((line): unknown => JSON.parse(line).text);

/** Filters by a query parameter, and ignores any other. */
const filteredBy = (parameter: string) => (request: FakeRequest, response: Parameters<typeof sendJson>[0]) => {
  const session = request.query.get(parameter);
  sendJson(response, { results: ENTRIES.filter(({ sessionId }) => session === null || sessionId === session) });
};

describe('a history that ignores the assumed parameter', () => {
  it.each(['sessionId', 'session-id', 'conversation_id'])(
    'is requested with %s, which is recorded',
    async (parameter) => {
      const { fake, tail, env } = await tailOf({ [`GET ${HISTORY}`]: filteredBy(parameter) });
      const ran = await tail();
      expect(ran).toMatchObject({ code: 0, stderr: '' });
      expect(texts(ran.stdout)).toEqual(['Hello', 'Hi']);
      const asked = fake.requests.length;
      expect(texts((await tail()).stdout)).toEqual(['Hello', 'Hi']);
      expect(fake.requests.slice(asked).every(({ query }) => query.get(parameter) === 's1')).toBe(true);
      const shown = await run(['contract', 'show', 'messages.history.session_id', '-o', 'json'], { env });
      expect(shown.json()).toMatchObject([{ value: `query:${parameter}`, source: 'observed' }]);
    },
  );

  it('and all others shows no message until `none` is set, and then those of the session', async () => {
    const { env, tail } = await tailOf({ [`GET ${HISTORY}`]: json({ results: ENTRIES }) });
    const ran = await tail();
    expect(ran).toMatchObject({ code: 8, stdout: '' });
    expect(ran.stderr).toContain('messages of a session other than the requested one');
    expect(ran.error().hint).toContain('partnerctl contract set messages.history.session_id none');
    await run(['contract', 'set', 'messages.history.session_id', 'none'], { env });
    const set = await tail();
    expect(set).toMatchObject({ code: 0, stderr: '' });
    expect(texts(set.stdout)).toEqual(['Hello', 'Hi']);
  });

  it('is rejected if `none` is set, but a message does not name its session', async () => {
    const { env, tail } = await tailOf({
      [`GET ${HISTORY}`]: json({ results: [...ENTRIES, { id: 'm4', text: 'Whose?' }] }),
    });
    await run(['contract', 'set', 'messages.history.session_id', 'none'], { env });
    const ran = await tail();
    expect(ran).toMatchObject({ code: 8, stdout: '' });
    expect(ran.error().hint).toContain('partnerctl contract set message.session_id');
  });

  it('is not treated as empty if an empty response proves nothing', async () => {
    const script = (request: FakeRequest, response: Parameters<typeof sendJson>[0]) =>
      sendJson(response, request.query.has('session_id') ? ENTRIES : []);
    const { tail } = await tailOf({ [`GET ${HISTORY}`]: script });
    expect(await tail()).toMatchObject({ code: 8, stdout: '' });
  });
});

describe('a history that is read by POST', () => {
  it('is not recorded before a POST has returned messages', async () => {
    const { env, tail } = await tailOf({ [`GET ${HISTORY}`]: json({}, 405), [`POST ${HISTORY}`]: json([]) });
    expect(await tail()).toMatchObject({ code: 0, stdout: '' });
    const shown = await run(['contract', 'show', '--source', 'observed', '-o', 'json'], { env });
    expect(shown.json()).toEqual([]);
  });

  it.each([
    [404, { message: 'Not here' }],
    [405, { message: 'Not here' }],
    [200, { ok: false, error: 'method_not_allowed' }],
  ])('is found after a GET that fails with %i %j, and recorded', async (status, body) => {
    const { fake, tail } = await tailOf({
      [`GET ${HISTORY}`]: json(body, status),
      [`POST ${HISTORY}`]: async (request, response) => {
        const { session_id } = request.json();
        sendJson(response, { results: ENTRIES.filter(({ sessionId }) => sessionId === session_id) });
      },
    });
    expect(texts((await tail()).stdout)).toEqual(['Hello', 'Hi']);
    const asked = fake.requests.length;
    expect(texts((await tail()).stdout)).toEqual(['Hello', 'Hi']);
    expect(fake.requests.slice(asked).every(({ method }) => method === 'POST')).toBe(true);
  });

  it('is found after a GET that the web server in front answers with a page', async () => {
    const { tail } = await tailOf({
      [`GET ${HISTORY}`]: (_request, response) => {
        response.writeHead(404, { 'content-type': 'text/html' });
        response.end('<html><head><title>404 Not Found</title></head></html>');
      },
      [`POST ${HISTORY}`]: json({ results: [ENTRIES[0]] }),
    });
    expect(texts((await tail({ clock: fasterClock() })).stdout)).toEqual(['Hello']);
  });

  it("keeps the service's message if it fails under status 200, too", async () => {
    const failure = json({ ok: false, error: 'ratelimited', detail: 'Too many sessions are open.' });
    const { tail } = await tailOf({ [`GET ${HISTORY}`]: failure, [`POST ${HISTORY}`]: json({ ok: false }) });
    const ran = await tail({ clock: fasterClock() });
    expect(ran.code).toBe(8);
    expect(ran.stderr).toContain('Too many sessions are open.');
    expect(ran.error().hint).toContain("partnerctl contract set messages.history 'POST ");
  });
});

/** A history that requires parameters of these names, and reports the missing ones: all, or the first. */
const named =
  (names: readonly string[], complain: (missing: readonly string[]) => unknown) =>
  (request: FakeRequest, response: Parameters<typeof sendJson>[0]) => {
    const missing = names.filter((name) => !request.query.has(name));
    if (missing.length > 0) return sendJson(response, complain(missing), 422);
    const own = ENTRIES.filter(({ sessionId }) => sessionId === request.query.get(names[1] ?? ''));
    sendJson(response, { results: request.query.get(names[0] ?? '') === 'src' ? own : [] });
  };
const ofAll = (missing: readonly string[]) => ({ errors: missing.map((field) => ({ field, message: 'is required' })) });
const inOneSentence = (missing: readonly string[]) => ({ error: `Missing required parameters: ${missing.join(', ')}` });
const ofFirst = ([first]: readonly string[]) => ({ message: `${first} is required` });

describe('a history that requires parameters of other names', () => {
  it.each([
    ['all at once', ['source', 'conversation'], ofAll],
    ['all in one sentence', ['source', 'threadId'], inOneSentence],
    ['one after the other', ['sourceRef', 'conversation_id'], ofFirst],
  ])('is requested with those, which are recorded, if errors name %s', async (_, names, complain) => {
    const { fake, tail } = await tailOf({ [`GET ${HISTORY}`]: named(names, complain) });
    const ran = await tail();
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(texts(ran.stdout)).toEqual(['Hello', 'Hi']);
    const asked = fake.requests.length;
    expect(asked).toBeLessThanOrEqual(4);
    expect(texts((await tail()).stdout)).toEqual(['Hello', 'Hi']);
    expect(fake.requests.slice(asked).every(({ query }) => query.get(names[1] ?? '') === 's1')).toBe(true);
  });

  it('that are ambiguous names the likely ones in one command, after which it is read', async () => {
    const { env, tail } = await tailOf({ [`GET ${HISTORY}`]: named(['channel', 'topic_thread'], ofAll) });
    const ran = await tail();
    const settings = [
      'messages.history.source_id',
      'query:channel',
      'messages.history.session_id',
      'query:topic_thread',
    ];
    expect(ran.error().hint).toContain(`partnerctl contract set ${settings.join(' ')}`);
    await run(['contract', 'set', ...settings], { env });
    expect(texts((await tail()).stdout)).toEqual(['Hello', 'Hi']);
  });

  it('names each parameter in turn immediately if that of the session has an unrelated name', async () => {
    const { tail } = await tailOf({ [`GET ${HISTORY}`]: named(['source', 'topic_thread'], ofFirst) });
    const settings = [
      'messages.history.source_id',
      'query:source',
      'messages.history.session_id',
      'query:topic_thread',
    ];
    expect((await tail()).error().hint).toContain(`partnerctl contract set ${settings.join(' ')}`);
  });
});

it('a history in pages that ignores the message to read after, too, is requested with the parameters that select the session', async () => {
  const all = [1, 2, 3].map((number) => ({ id: `m${number}`, sessionId: 's1', role: 'user', text: `Text ${number}` }));
  const { env } = await tailOf({
    [`GET ${HISTORY}`]: ({ query }: FakeRequest, response: Parameters<typeof sendJson>[0]) => {
      const page = Number(query.get('page') ?? 1);
      const found = query.has('sessionId') ? all : [{ id: 'm0', sessionId: 's2', role: 'user', text: 'Other' }, ...all];
      sendJson(response, { data: found.slice(2 * page - 2, 2 * page), total: found.length, page, limit: 2 });
    },
  });
  const args = ['chat', 'tail', '--source', 'src', '--session', 's1', '--no-follow', '-o', 'json', '--after', 'm3'];
  expect(await run(args, { env })).toMatchObject({ code: 0, stdout: '', stderr: '' });
});

it('an empty object ends a history that was read before', async () => {
  const { tail } = await tailOf([json({ messages: [ENTRIES[0]] }), json({})]);
  const ran = await tail();
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(texts(ran.stdout)).toEqual(['Hello']);
});

it('a history that announces more, but not how to request it, is rejected with the name of the field', async () => {
  const at = { created_at: '2026-01-01T00:00:00Z' };
  const page = [
    { id: 'b', role: 'user', text: 'B', ...at },
    { id: 'a', role: 'user', text: 'A', ...at },
  ];
  const { tail } = await tailOf((request, response) =>
    sendJson(
      response,
      request.query.has('after_message_id') ? { results: [page[0]] } : { results: page, has_more: true },
    ),
  );
  const ran = await tail();
  expect(ran.code).toBe(8);
  expect(ran.error().hint).toContain('partnerctl contract set messages.history.next');
});

it('a history in pages that ignores the message to read after shows no earlier reply', async () => {
  const page = [
    { id: 'm1', role: 'user', text: 'Hello' },
    { id: 'm2', role: 'assistant', text: 'An earlier reply' },
  ];
  const { env } = await tailOf(json({ results: page, page: 1, has_more: true }));
  const wait = [
    'chat',
    'wait',
    '--source',
    'src',
    '--session',
    's1',
    '--after',
    'm3',
    '--timeout',
    '10s',
    '-o',
    'json',
  ];
  const ran = await run(wait, { env, clock: fasterClock() });
  expect(ran.code).toBe(8);
  expect(ran.stdout).not.toContain('An earlier reply');
  expect(ran.stderr).toContain('partnerctl contract set messages.history.after_message_id');
});

/** A history of six messages in pages of two, with times in whole seconds, that ignores the message to read after. */
const TURNS: readonly Entry[] = ['a', 'b', 'c', 'd', 'e', 'f'].map((text, index) => ({
  id: `id-${'qjxvzk'[index]}`,
  role: index % 2 === 0 ? 'user' : 'assistant',
  text,
  created_at: `2026-01-01T00:00:0${Math.floor(index / 2)}Z`,
}));

type PageOf = (query: URLSearchParams, all: readonly Entry[]) => unknown;

const WAYS: readonly (readonly [string, PageOf])[] = [
  [
    'by a token',
    (query, all) => {
      const at = Number(query.get('cursor')?.slice(1) ?? 0);
      return { data: all.slice(at, at + 2), next_cursor: at + 2 < all.length ? `t${at + 2}` : null };
    },
  ],
  [
    'by page numbers',
    (query, all) => {
      const page = Number(query.get('page') ?? 1);
      return { data: all.slice(page * 2 - 2, page * 2), page, total_pages: Math.ceil(all.length / 2) };
    },
  ],
  [
    'by an offset',
    (query, all) => {
      const offset = Number(query.get('offset') ?? 0);
      return { data: all.slice(offset, offset + 2), offset, limit: 2, total: all.length };
    },
  ],
  [
    'by links',
    (query, all) => {
      const at = Number(query.get('at') ?? 0);
      return { data: all.slice(at, at + 2), links: { next: at + 2 < all.length ? `?at=${at + 2}` : null } };
    },
  ],
  [
    'by the id of the last message',
    (query, all) => {
      const at = all.findIndex(({ id }) => id === query.get('starting_after')) + 1;
      return { data: all.slice(at, at + 2), has_more: at + 2 < all.length };
    },
  ],
];

describe.each(WAYS)('a history in pages %s that ignores the message to read after', (_, pageOf) => {
  describe.each(['oldest', 'newest'])('and starts with the %s', (order) => {
    const all = order === 'oldest' ? TURNS : TURNS.toReversed();
    const script = (request: FakeRequest, response: Parameters<typeof sendJson>[0]) =>
      sendJson(response, pageOf(request.query, all));

    it('is read completely and in order, to the last messages, and after a message', async () => {
      const { env, tail } = await tailOf(script);
      const ran = await tail();
      expect(ran).toMatchObject({ code: 0, stderr: '' });
      expect(texts(ran.stdout).join('')).toBe('abcdef');
      const read = async (...flags: string[]) => {
        const args = ['chat', 'tail', '--source', 'src', '--session', 's1', '--no-follow', '-o', 'json', ...flags];
        return texts((await run(args, { env })).stdout).join('');
      };
      expect(await read('--tail', '3')).toBe('def');
      expect(await read('--after', 'id-x')).toBe('def');
      expect(await read('--after', 'id-k')).toBe('');
    });

    it('yields the reply to that message, and no earlier one', async () => {
      const { env } = await tailOf(script);
      const args = ['chat', 'wait', '--source', 'src', '--session', 's1', '--after', 'id-x'];
      expect(await run(args, { env })).toMatchObject({ code: 0, stdout: 'd\n' });
    });
  });
});

it('a history that is read by POST is read over all of its pages', async () => {
  const { tail } = await tailOf({
    [`GET ${HISTORY}`]: json({}, 405),
    [`POST ${HISTORY}`]: async (request, response) => {
      const { session_id, page_token } = request.json();
      const at = Number(page_token ?? 0);
      if (session_id !== 's1') return sendJson(response, { messages: [] });
      sendJson(response, { messages: TURNS.slice(at, at + 2), next_page_token: at + 2 < 6 ? String(at + 2) : '' });
    },
  });
  expect(texts((await tail()).stdout).join('')).toBe('abcdef');
});

describe('an author', () => {
  const user = { username: 'anna' };

  it.each([
    [
      { id: 'm1', text: 'Hello', author: user },
      { id: 'm2', text: 'Hi', author: { ...user, bot: true } },
    ],
    [
      { id: 'm1', text: 'Hello', user: 'U1', subtype: null },
      { id: 'm2', text: 'Hi', user: 'U2', subtype: 'bot_message' },
    ],
  ])('is the user if only the messages of agents have a flag: %j', async (...entries) => {
    const { tail } = await tailOf(json(entries));
    const ran = await tail();
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.stdout).toMatch(/"m1".*"role":"user".*\n.*"m2".*"role":"assistant"/);
  });

  it.each([
    [{ from: { id: '7' }, is_echo: true }, 'partnerctl contract set message.author is_echo'],
    [{ role: 'operator' }, "partnerctl contract set message.author.user 'user,"],
  ])('that is not recognized is shown with a warning: %j', async (author, command) => {
    const { tail } = await tailOf(json([{ id: 'm1', text: 'Hello', ...author }]));
    const ran = await tail();
    expect(ran.code).toBe(0);
    expect(ran.stderr).toContain(command);
  });

  it('is recognized by a flag after two commands', async () => {
    const { env, tail } = await tailOf(
      json([
        { id: 'm1', text: 'Hello', is_echo: false },
        { id: 'm2', text: 'Hi', is_echo: true },
      ]),
    );
    await run(['contract', 'set', 'message.author', 'is_echo'], { env });
    await run(['contract', 'set', 'message.author.agent', 'assistant, true'], { env });
    const ran = await tail();
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.stdout).toMatch(/"m1".*"role":"user".*\n.*"m2".*"role":"assistant"/);
  });
});

describe('a wait for a reply', () => {
  const wait = ['chat', 'wait', '--source', 'src', '--session', 's1', '--after', 'm1', '--timeout', '3s', '-o', 'json'];

  it.each([
    [{ role: 'operator' }, "message.author.agent 'assistant,"],
    [{ written_by: 'operator' }, 'partnerctl contract set message.author'],
  ])('that ends without a recognized author says so: %j', async (author, hint) => {
    const { env } = await tailOf(
      json([
        { id: 'm1', role: 'user', text: 'Hello' },
        { id: 'm2', text: 'Hi', ...author },
      ]),
    );
    const ran = await run(wait, { env, clock: fasterClock() });
    expect(ran.code).toBe(11);
    expect(ran.error().hint).toContain(hint);
  });

  it('recognizes the author after the command that the error names', async () => {
    const { env } = await tailOf(json([{ id: 'm2', role: 'operator', text: 'Hi' }]));
    const refused = await run(wait, { env, clock: fasterClock() });
    const [, names = ''] = /contract set message\.author\.agent '([^']+)'/.exec(String(refused.error().hint)) ?? [];
    expect((await run(['contract', 'set', 'message.author.agent', names], { env })).code).toBe(0);
    expect(await run(wait, { env })).toMatchObject({ code: 0 });
  });

  it('names the method of reading histories if the service responds to each read with 404', async () => {
    const { env } = await tailOf(json({ message: 'No such route' }, 404));
    const ran = await run(wait, { env });
    expect(ran.code).not.toBe(0);
    expect(ran.stderr).toContain('messages.history');
  });
});

describe('a history whose messages have the same second', () => {
  const tied = ['m-x', 'm-a', 'm-k', 'm-b', 'm-y'].map((id) => ({
    id,
    text: id,
    role: 'user',
    created_at: '2026-03-02T09:31:00Z',
  }));
  const restAfter = (query: URLSearchParams, entries: readonly unknown[], newestFirst: boolean) => {
    const at = tied.findIndex(({ id }) => id === query.get('after_message_id'));
    if (at === -1) return entries;
    return newestFirst ? tied.slice(at + 1).toReversed() : tied.slice(at + 1);
  };

  it.each([
    ['the newest first', true],
    ['the oldest first', false],
  ])('and come %s is shown in the order in which they were written', async (_, newestFirst) => {
    const { tail } = await tailOf({
      [`GET ${HISTORY}`]: ({ query }: FakeRequest, response: Parameters<typeof sendJson>[0]) => {
        const found = restAfter(query, newestFirst ? tied.toReversed() : tied, newestFirst);
        const start = Number(query.get('cursor') ?? 0);
        const next = start + 2 < found.length ? { next_cursor: String(start + 2) } : {};
        sendJson(response, { messages: found.slice(start, start + 2), ...next });
      },
    });
    const ran = await tail();
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(texts(ran.stdout)).toEqual(tied.map(({ text }) => text));
  });

  it('and come on one page, the newest first, is shown in the order in which they were written', async () => {
    const { tail } = await tailOf({
      [`GET ${HISTORY}`]: ({ query }: FakeRequest, response: Parameters<typeof sendJson>[0]) =>
        sendJson(response, restAfter(query, tied.toReversed(), true)),
    });
    expect(texts((await tail()).stdout)).toEqual(tied.map(({ text }) => text));
  });

  it('and ignores the message to read after is shown in the order received', async () => {
    const { tail } = await tailOf({ [`GET ${HISTORY}`]: json(tied) });
    expect(texts((await tail()).stdout)).toEqual(tied.map(({ text }) => text));
  });
});
