import { describe, expect, it, test } from 'vitest';
import { HISTORY } from '../support/chat.ts';
import { type Handler, json, type Script, sendJson, startFakeService } from '../support/fake-service.ts';
import { fastClock, run, tempDirectory, tinyRandom } from '../support/run.ts';

const ENTRIES = [
  { id: 'm1', session_id: 't-1', role: 'user', text: 'Hello', created_at: '2026-01-01T00:00:01Z' },
  { id: 'm2', session_id: 't-2', role: 'user', text: 'CONFIDENTIAL', created_at: '2026-01-01T00:00:02Z' },
  { id: 'm3', session_id: 't-1', role: 'assistant', text: 'Hi', created_at: '2026-01-01T00:00:03Z' },
];

const ROUTE = `GET ${HISTORY}`;

/** A history that filters by one query parameter, ignores any other, and does not name the session of a message. */
function historyBy(parameter: string, ofUnknown: Handler = json({ results: [] })): Script {
  return {
    [ROUTE]: (request, response, count) => {
      const wanted = request.query.get(parameter);
      if (wanted?.startsWith('partnerctl-check-')) return ofUnknown(request, response, count);
      const own = ENTRIES.filter(({ session_id }) => wanted === null || wanted === session_id);
      return sendJson(response, { results: own.map(({ session_id, ...entry }) => entry) });
    },
    'POST *': json({ message_id: 'm1', created: true }),
    'GET *': json([]),
  };
}

async function runAt(script: Script, argv: readonly string[]) {
  const service = await startFakeService(script);
  const env = { PARTNER_BASE_URL: service.baseUrl, PARTNER_TOKEN: 'test-token', HOME: tempDirectory() };
  const ran = await run([...argv, '-o', 'json'], { env, clock: fastClock(), random: tinyRandom });
  return { ...ran, requests: service.requests };
}

const OF_SESSION = ['--source', 'src', '--session', 't-1'];
const TAIL = ['chat', 'tail', ...OF_SESSION, '--from-start', '--no-follow'];
const SET = "partnerctl contract set messages.history.session_id 'query:<name>'";

describe('a history that ignores which session is requested', () => {
  it.each([
    ['chat tail', TAIL],
    ['chat wait', ['chat', 'wait', ...OF_SESSION, '--after', 'm1', '--timeout', '20s']],
    ['chat send --wait', ['chat', 'send', 'Hello', ...OF_SESSION, '--wait', '--timeout', '20s']],
  ])('is refused before a message of another session is shown: %s', async (_, argv) => {
    const ran = await runAt(historyBy('sess'), argv);
    expect(ran.code).toBe(8);
    expect(ran.stdout + ran.stderr).not.toContain('CONFIDENTIAL');
    expect(ran.stderr).toContain(SET);
  });

  it.each<[string, Handler]>([
    [
      'one a page',
      ({ query }, response) =>
        sendJson(response, query.has('page') ? { results: [ENTRIES[2]] } : { results: [ENTRIES[1]], next: '?page=2' }),
    ],
    ['the newest first', json({ results: ENTRIES.toReversed() })],
    ['by the messages of this session', json({ results: [ENTRIES[0]] })],
  ])('is refused by what it has for a session that does not exist: %s', async (_, ofUnknown) => {
    const ran = await runAt(historyBy('session_id', ofUnknown), TAIL);
    expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code: 8, stdout: '' });
  });
});

describe('a history whose messages do not name their session', () => {
  it.each<[string, Handler]>([
    ['an empty list', json({ results: [] })],
    ['a 404', json({ code: 'unknown_session' }, 404)],
    ['a 400', json({ message: 'No such session.' }, 400)],
    ['an error in a 200', json({ ok: false, error: 'session_not_found' })],
    ['a greeting', json({ results: [{ id: 'g1', role: 'assistant', text: 'Welcome!', created_at: '2026-01-01' }] })],
  ])('is shown if the service minds the session, as by %s', async (_, ofUnknown) => {
    const ran = await runAt(historyBy('session_id', ofUnknown), TAIL);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.stdout.match(/"message_id":"m\d"/g)).toEqual(['"message_id":"m1"', '"message_id":"m3"']);
    expect(ran.requests.filter(({ query }) => query.get('session_id') !== 't-1')).toHaveLength(1);
  });

  it('is not shown while the service does not answer the question: a 503, or the page of a gateway', async () => {
    const page: Handler = (_request, response) =>
      response.writeHead(404, { 'content-type': 'text/html' }).end('<html>');
    for (const ofUnknown of [json({}, 503), page]) {
      const ran = await runAt(historyBy('session_id', ofUnknown), TAIL);
      expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code: 8, stdout: '' });
    }
  });

  it('is asked once for all sessions of a source, and not if each message names its session', async () => {
    const two = await runAt(historyBy('session_id'), [...TAIL, '--session', 't-2']);
    expect(two.requests.filter(({ query }) => query.get('session_id')?.startsWith('partnerctl-check-'))).toHaveLength(
      1,
    );
    const results = ENTRIES.filter(({ session_id }) => session_id === 't-1');
    const named = await runAt({ [ROUTE]: json({ results }) }, TAIL);
    expect(named.requests.every(({ query }) => query.get('session_id') === 't-1')).toBe(true);
    const partly = await runAt(
      { [ROUTE]: json({ results: [results[0], { ...results[1], session_id: undefined }] }) },
      TAIL,
    );
    expect(partly.code).toBe(8);
  });
});

test('contract check contradicts a history that ignores the session, and confirms one that heeds it', async () => {
  const check = async (script: Script) => {
    const { code, json: parsed } = await runAt(script, ['contract', 'check', ...OF_SESSION]);
    const checks = parsed<{ leaf: string; result: string }[]>();
    return [code, checks.find(({ leaf }) => leaf === 'messages.history.session_id')?.result];
  };
  expect(await check(historyBy('sess'))).toEqual([8, 'contradicted']);
  expect(await check({ [ROUTE]: json({ results: ENTRIES }), 'GET *': json([]) })).toEqual([8, 'contradicted']);
  expect(await check(historyBy('session_id', json({ code: 'unknown_session' }, 404)))).toEqual([0, 'confirmed']);
  const failed = await runAt(historyBy('session_id', json({}, 500)), ['contract', 'check', ...OF_SESSION]);
  expect(failed.code).toBe(8);
});

test.each([
  ['says so, and names the settings of histories', [], 'The message m1 does not show in the history of session t-1.'],
  ['is no reply if its message shows', [ENTRIES[0]], 'No reply came within 20s.'],
])('chat send --wait without a reply %s', async (_, results, message) => {
  const script = { [ROUTE]: json({ results }), 'POST *': json({ message_id: 'm1', created: true }) };
  const ran = await runAt(script, ['chat', 'send', 'Hello', ...OF_SESSION, '--wait', '--timeout', '20s']);
  expect(ran.code).toBe(11);
  expect(ran.error().message).toBe(message);
  expect(ran.error().hint?.includes('messages.history.session_id')).toBe(results.length === 0);
});
