import { expect, test } from 'vitest';
import type { Clock } from '../../src/platform/clock.ts';
import {
  type Entry,
  type HistoryRequest,
  historyServer,
  idsFrom,
  idsOf,
  nextPath,
  readAll,
} from '../support/history-server.ts';
import { propertyRuns } from '../support/properties.ts';
import {
  fastClock,
  manualSignals,
  partnerctl,
  type RunOptions,
  run,
  stallingClock,
  tempDirectory,
  tinyRandom,
} from '../support/run.ts';

const TAIL = ['chat', 'tail', '--source', 'src', '--session', 's', '-o', 'json'];

/** Sends a page of a list, and the link to the next one. */
function sendPage({ json, url }: HistoryRequest, entries: readonly Entry[], size: number): void {
  const at = Number(url.searchParams.get('at') ?? 0);
  const next = at + size < entries.length ? nextPath(url, 'at', at + size) : null;
  json(200, { results: entries.slice(at, at + size), next });
}

/** Allows 50 requests in each 5 s of the clock. @returns whether it has answered with 429 */
function rateLimit(clock: Clock) {
  let window = { since: clock.now(), count: 0 };
  return ({ json }: HistoryRequest): boolean => {
    const now = clock.now();
    if (now >= window.since + 5_000) window = { since: now, count: 0 };
    window.count += 1;
    if (window.count <= 50) return false;
    const seconds = String(Math.ceil((window.since + 5_000 - now) / 1_000));
    json(429, {}, { 'retry-after': seconds });
    return true;
  };
}

const MANY = propertyRuns(10_000, 300);

test.each([
  ['oldest first', ['--from-start']],
  ['oldest first, after a message', ['--after', 's-0']],
  ['newest first', ['--from-start']],
])(
  'Thousands of messages, %s, are shown once and in order in the time that a rate limit allows',
  async (order, start) => {
    const server = await historyServer();
    const clock = fastClock();
    const isLimited = rateLimit(clock);
    server.add('s', MANY);
    server.behave((request, wellBehaved) => {
      if (isLimited(request)) return;
      const entries = wellBehaved();
      sendPage(request, order.startsWith('newest') ? entries.toReversed() : entries, 5);
    });
    const began = clock.now();
    const ran = await partnerctl(server.baseUrl, [...TAIL, ...start, '--no-follow'], { clock, random: tinyRandom });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(idsOf(ran.stdout)).toEqual(idsFrom(start.length - 1, MANY - 1));
    // Pages of five messages, fifty of them in five seconds.
    expect(clock.now() - began).toBeLessThan((MANY / 5 / 50) * 5_000 * 1.1);
  },
);

test('A session is read to its end although one request in twenty fails', async () => {
  for (const isReversed of [false, true]) {
    const server = await historyServer();
    server.add('s', 500);
    server.behave((request, wellBehaved) => {
      if (server.requests.length % 20 === 7) return request.json(503, {});
      sendPage(request, isReversed ? wellBehaved().toReversed() : wellBehaved(), 10);
    });
    const { code, ids, stderr } = await readAll(server, '--from-start');
    expect({ code, stderr, ids }).toEqual({ code: 0, stderr: '', ids: idsFrom(0, 499) });
    // 50 pages, and one more for each that failed.
    expect(server.requests.length).toBeLessThan(55);
  }
});

test.each([
  ['501', 501, { 'content-type': 'application/json' }],
  ['the 404 of a gateway', 404, { 'content-type': 'text/html' }],
])(
  'A page that never comes (%s) ends the reading with an error, although those before it come each time',
  async (_, status, headers) => {
    const server = await historyServer();
    server.add('s', 30);
    server.behave((request) => {
      // The history ignores the message to read after, so that each reading begins with the first page.
      if (request.url.searchParams.get('at') !== '20') return sendPage(request, server.sessions.get('s') ?? [], 10);
      request.response.writeHead(status, headers).end('<html></html>');
    });
    const { code, ids } = await readAll(server, '--from-start');
    expect({ code, ids }).toEqual({ code: 8, ids: idsFrom(0, 19) });
  },
);

test('Messages that an empty page stands for, which the stated count still has, are not passed over in silence', async () => {
  const server = await historyServer();
  server.add('s', 45);
  server.behave(({ json, url }, wellBehaved) => {
    const [entries, at] = [wellBehaved(), Number(url.searchParams.get('at') ?? 0)];
    const next = at + 12 < entries.length ? nextPath(url, 'at', at + 12) : null;
    json(200, { count: entries.length, next, results: at === 24 ? [] : entries.slice(at, at + 12) });
  });
  const { code, ids, stderr } = await readAll(server, '--from-start');
  expect({ code, ids }).toEqual({ code: 8, ids: [...idsFrom(0, 23), ...idsFrom(36, 44)] });
  expect(stderr).toContain('count: 45, and 33 read');
});

test('Each message is shown before the page behind it is requested', async () => {
  const server = await historyServer();
  server.add('s', 40);
  const shownBefore: number[] = [];
  let shown = 0;
  server.behave((request, wellBehaved) => {
    shownBefore.push(shown);
    sendPage(request, wellBehaved(), 10);
  });
  const onStdout = (text: string): void => {
    shown = idsOf(text).length;
  };
  await partnerctl(server.baseUrl, [...TAIL, '--from-start', '--no-follow'], { onStdout });
  expect(shownBefore.slice(0, 4)).toEqual([0, 10, 20, 30]);
});

test('A service that ignores the message to read after shows nothing from before it, although the history has pages', async () => {
  const server = await historyServer();
  server.add('s', 60);
  server.behave((request) => sendPage(request, server.sessions.get('s') ?? [], 10));
  expect((await readAll(server, '--after', 's-44')).ids).toEqual(idsFrom(45, 59));
});

/** Runs a command against a history that does not respond any more after `answers` responses, and acts then. */
async function stalled(
  args: readonly string[],
  answers: number,
  act: (request: HistoryRequest) => unknown,
  options: RunOptions,
) {
  const server = await historyServer();
  server.add('s', 30);
  const home = tempDirectory();
  const env = { HOME: home, PARTNER_BASE_URL: server.baseUrl, PARTNER_TOKEN: 'token-of-the-test' };
  await run([...TAIL, '--no-follow', '--tail', '1'], { env, clock: fastClock() });
  const before = server.requests.length;
  server.behave((request, wellBehaved) => {
    if (server.requests.length - before <= answers) sendPage(request, wellBehaved(), 10);
    else act(request);
  });
  return await run(args, { env, ...options });
}

test.each([
  [[...TAIL, '--from-start', '--no-follow']],
  [['chat', 'watch', '--no-follow', '-o', 'json']],
  [['chat', 'wait', '--source', 'src', '--session', 's', '--after', 's-2', '--replies', '99']],
])('Ctrl-C while a session is read to its end exits with 130: %j', async (args) => {
  for (const answers of [0, 2]) {
    const signals = manualSignals();
    const ran = await stalled(args, answers, signals.ctrlC, { signals });
    expect(ran.code).toBe(130);
  }
});

test.each([[[...TAIL, '--from-start', '--no-follow']], [['chat', 'watch', '--no-follow', '-o', 'json']]])(
  'A session that does not respond within --timeout is not taken for an empty one: %j',
  async (args) => {
    const clock = stallingClock();
    const ran = await stalled([...args, '--timeout', '3s'], 0, ({ response }) => clock.stall(response), { clock });
    expect(ran.code).toBe(8);
    expect(ran.stdout).toBe('');
    expect(ran.error().hint).toMatch(/Allow more time with --timeout/);
  },
);

test('A wait whose first reply may be on a page that the service does not name is refused with the command that settles it', async () => {
  const server = await historyServer();
  server.add('s', 30);
  server.behave(({ json }, wellBehaved) => json(200, { results: wellBehaved().slice(-10).reverse() }));
  const wait = ['chat', 'wait', '--source', 'src', '--session', 's', '--after', 's-3', '-o', 'json'];
  const ran = await partnerctl(server.baseUrl, wait);
  expect({ code: ran.code, reply: ran.json<{ reply: unknown }>().reply }).toEqual({ code: 8, reply: null });
  expect(ran.error().hint).toContain('partnerctl contract set messages.history.next none');
});
