import { expect, test } from 'vitest';
import { HISTORY, MESSAGE } from '../support/chat.ts';
import { type FakeRequest, type FakeService, json, sendJson, startFakeService } from '../support/fake-service.ts';
import { fastClock, type Ran, run, tempDirectory, tinyRandom } from '../support/run.ts';
import { write } from '../support/service.ts';

/* Histories that ignore which session is requested: what Ben is told never passes for a message of Anna. */

type Entry = Readonly<Record<string, unknown>>;

const say = (number: number, session_id: string, role: string, text: string) => {
  return { id: `m${number}`, session_id, role, text, created_at: `2026-01-01T00:00:0${number}Z` };
};

const ENTRIES = [
  say(1, 'anna', 'user', 'Hello'),
  say(2, 'ben', 'assistant', 'Your PIN is 47-11.'),
  say(3, 'anna', 'assistant', 'Hi Anna'),
  say(4, 'ben', 'assistant', 'Once more: 47-11'),
];

const ANNA = ['--source', 'src', '--session', 'anna'];
const TAIL = ['chat', 'tail', ...ANNA, '--no-follow', '--from-start', '-o', 'json'];

const unnamed = (entries: readonly Entry[]): Entry[] => entries.map(({ session_id: _, ...entry }) => entry);

const sessionIn = ({ query }: FakeRequest): string => query.get('session_id') ?? '';
/** Whether the command asks for a session that does not exist. */
const isInvented = (request: FakeRequest): boolean => !['anna', 'ben'].includes(sessionIn(request));
const ofSession = (request: FakeRequest) => ENTRIES.filter(({ session_id }) => session_id === sessionIn(request));
const afterCursor = ({ query }: FakeRequest): Entry[] =>
  ENTRIES.slice(ENTRIES.findIndex(({ id }) => id === query.get('after_message_id')) + 1);

interface Answer {
  readonly status?: number;
  readonly body?: unknown;
  /** In place of JSON. */
  readonly page?: string;
}

function serve(history: (request: FakeRequest, count: number) => Answer): Promise<FakeService> {
  return startFakeService({
    [`POST ${MESSAGE}`]: json({ message_id: 'm1', created: true }, 201),
    [`GET ${HISTORY}`]: (request, response, count) => {
      const { status = 200, body, page } = history(request, count);
      if (page !== undefined) response.writeHead(status, { 'content-type': 'text/html' }).end(page);
      else if (body === undefined) response.writeHead(status).end();
      else sendJson(response, body, status);
    },
  });
}

/** Runs a command on a machine that has sent a message to Anna. */
async function runWith({ baseUrl }: FakeService, argv: readonly string[]): Promise<Ran> {
  const env = { PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: 'test-token', HOME: tempDirectory() };
  const options = { env, clock: fastClock(), random: tinyRandom };
  expect(await run(['chat', 'send', ...ANNA, 'Hello'], options)).toMatchObject({ code: 0 });
  return run(argv, options);
}

/** The requests for a session that does not exist. */
const questions = ({ requests }: FakeService) =>
  requests.filter((request) => request.method === 'GET' && isInvented(request));

function pageOf(entries: readonly Entry[], size: number, { query }: FakeRequest): Answer {
  const from = Number(query.get('cursor') ?? 0);
  const next_cursor = from + size < entries.length ? String(from + size) : null;
  return { body: { results: entries.slice(from, from + size), next_cursor } };
}

const IGNORING: readonly [string, (request: FakeRequest) => Answer][] = [
  ['in one page', (request) => ({ body: unnamed(afterCursor(request)) })],
  ['in pages of two', (request) => pageOf(unnamed(afterCursor(request)), 2, request)],
  ['in pages of one', (request) => pageOf(unnamed(afterCursor(request)), 1, request)],
  ['newest first', (request) => ({ body: unnamed(afterCursor(request)).reverse() })],
  ['newest first, in pages of one', (request) => pageOf(unnamed(afterCursor(request)).reverse(), 1, request)],
  ['and has no cursors', () => ({ body: unnamed(ENTRIES) })],
  [
    'and has no times',
    (request) => ({ body: unnamed(afterCursor(request)).map(({ created_at: _, ...each }) => each) }),
  ],
  ['and has one message', () => ({ body: unnamed(ENTRIES.slice(1, 2)) })],
  [
    'and names it only where it is the requested one',
    (request) => ({
      body: afterCursor(request).flatMap((each) => (each.session_id === 'anna' ? each : unnamed([each]))),
    }),
  ],
];

test.each(IGNORING)(
  'A service that ignores the session, %s, is refused before a message is shown',
  async (_, history) => {
    const service = await serve(history);
    const ran = await runWith(service, TAIL);
    expect(ran.code, ran.stderr).toBe(8);
    expect(ran.stdout + ran.stderr).not.toContain('47-11');
    expect(ran.stderr).toContain("partnerctl contract set messages.history.session_id 'query:<name>'");
    expect(new Set(questions(service).map(sessionIn)).size).toBe(1);
  },
);

const TALK = 'turns: [{ say: Hello, within: 5s, expect: [{ contains: PIN }] }]';

test.each<[string, () => string[], code?: number]>([
  ['chat tail', () => ['chat', 'tail', ...ANNA, '--timeout', '2h']],
  ['chat wait', () => ['chat', 'wait', ...ANNA, '--after', 'm1']],
  ['chat send --wait', () => ['chat', 'send', ...ANNA, '--wait', 'Hello']],
  ['chat test', () => ['chat', 'test', write('talk.yaml', TALK), '--source', 'src']],
  ['chat watch, which goes on,', () => ['chat', 'watch', '--no-follow', '-o', 'json'], 0],
])('%s refuses such a service', async (_, argvOf, code = 8) => {
  const ran = await runWith(await serve((request) => ({ body: unnamed(afterCursor(request)) })), argvOf());
  expect(ran.code, ran.stderr).toBe(code);
  expect(ran.stdout + ran.stderr).not.toContain('47-11');
  expect(ran.stdout + ran.stderr).toContain('ignores which session is requested');
  if (code === 0) expect(ran.json()).toMatchObject([{ session_id: 'anna', status: 'cannot_be_read' }]);
});

test('A history that was empty at first is checked once it has messages', async () => {
  const service = await serve((_, count) => ({ body: count < 4 ? [] : unnamed(ENTRIES) }));
  const ran = await runWith(service, ['chat', 'tail', ...ANNA, '--timeout', '2h']);
  expect(ran).toMatchObject({ code: 8, stdout: '' });
  expect(questions(service)).toHaveLength(1);
});

test.each<[string, Answer]>([
  ['no messages', { body: [] }],
  ['a greeting', { body: [{ id: 'welcome-7', role: 'assistant', text: 'Hi!' }] }],
  ['404', { status: 404, body: { detail: 'Not found.' } }],
  ['400', { status: 400, body: { detail: 'Not a session.' } }],
  ['403', { status: 403, body: {} }],
  ['204', { status: 204 }],
  ['an error in a 200', { body: { error: { code: 'session_not_found' } } }],
])('A service that has %s for a session that does not exist minds it, and is asked once', async (_, answer) => {
  const service = await serve((request) => (isInvented(request) ? answer : { body: unnamed(ofSession(request)) }));
  const ran = await runWith(service, [...TAIL, '--session', 'ben']);
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.stdout.trim().split('\n')).toHaveLength(4);
  expect(questions(service)).toHaveLength(1);
});

test.each<[string, Answer]>([
  ['500', { status: 500, body: {} }],
  ['503', { status: 503, body: {} }],
  ['429', { status: 429, body: {} }],
  ["a gateway's 404", { status: 404, page: '<html>' }],
  ['a page in a 200', { page: '<html>' }],
])(
  '%s for a session that does not exist is no answer: it is asked for again, and nothing is shown without one',
  async (_, failure) => {
    let failures = 2;
    const service = await serve((request) => {
      if (!isInvented(request)) return { body: unnamed(ofSession(request)) };
      failures -= 1;
      return failures < 0 ? { body: [] } : failure;
    });
    expect((await runWith(service, TAIL)).stdout).toMatch(/Hello.*\n.*Hi Anna/);
    failures = Number.POSITIVE_INFINITY;
    const failed = await runWith(service, TAIL);
    expect(failed).toMatchObject({ code: failure.status === 429 ? 7 : 8, stdout: '' });
  },
);

test('An error in a 200 that is not about the session is no answer, either', async () => {
  const error = { code: 'internal' };
  const service = await serve((request) => ({ body: isInvented(request) ? { error } : unnamed(ofSession(request)) }));
  expect(await runWith(service, TAIL)).toMatchObject({ code: 8, stdout: '' });
});

test.each<[string, (entry: Entry) => Entry]>([
  ['session_id', (entry) => entry],
  ['attributes.session_id', ({ id, ...attributes }) => ({ id, attributes })],
])(
  'A history whose entries name their session as %s is not asked, and the messages of another one are refused',
  async (_, shape) => {
    const heeding = await serve((request) => ({ body: ofSession(request).map(shape) }));
    expect(await runWith(heeding, TAIL)).toMatchObject({ code: 0, stderr: '' });
    expect(questions(heeding)).toEqual([]);
    const ignoring = await runWith(await serve(() => ({ body: ENTRIES.map(shape) })), TAIL);
    expect(ignoring).toMatchObject({ code: 8, stdout: '' });
    expect(ignoring.stderr).toContain('partnerctl contract set messages.history.session_id none');
  },
);

test('A message of another session that comes later ends a tail', async () => {
  const service = await serve((_, count) => ({ body: ENTRIES.slice(0, count < 4 ? 1 : 2) }));
  const ran = await runWith(service, ['chat', 'tail', ...ANNA, '--timeout', '2h', '-o', 'json']);
  expect(ran.code).toBe(8);
  expect(ran.stdout).not.toContain('47-11');
});

test('The refusal names what may be the session of an entry', async () => {
  const shape = ({ session_id: conversation_id, ...entry }: Entry) => ({ ...entry, conversation_id });
  const ran = await runWith(await serve(() => ({ body: ENTRIES.map(shape) })), TAIL);
  expect(ran.stderr).toContain('partnerctl contract set message.session_id conversation_id');
});
