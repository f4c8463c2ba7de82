import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Clock } from '../../src/platform/clock.ts';
import {
  type Entry,
  type HistoryRequest,
  type HistoryServer,
  historyServer,
  idsOf,
  nextPath,
} from '../support/history-server.ts';
import { propertyRuns } from '../support/properties.ts';
import {
  fastClock,
  leapingClock,
  manualSignals,
  type Ran,
  run,
  stallingClock,
  tempDirectory,
  tinyRandom,
} from '../support/run.ts';

/** A tail of sessions, with a home of its own, so that the next one can resume it. */
function tailOf({ baseUrl }: HistoryServer, sessions: readonly string[], clock: Clock, home = tempDirectory()) {
  const env = { PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: 'token-of-the-test', HOME: home };
  const followed = sessions.flatMap((session) => ['--session', session]);
  // Without a limit, a tail that has lost a message would wait for it for ever.
  const args = ['chat', 'tail', '--source', 'src', ...followed, '--resume', '-o', 'json', '--timeout', '200h'];
  /** Runs it, and ends it as Ctrl-C does once it has shown this many messages. */
  const follow = (count: number, ...flags: readonly string[]): Promise<Ran> => {
    const signals = manualSignals();
    const onStdout = (text: string): void => {
      if (idsOf(text).length >= count) signals.ctrlC();
    };
    return run([...args, ...flags], { env, clock, random: tinyRandom, signals, onStdout });
  };
  return {
    follow,
    /** Runs it until everything that exists has been read. */
    read: (): Promise<Ran> => run([...args, '--no-follow'], { env, clock, random: tinyRandom }),
    /** Stops it after each of these numbers of messages and resumes it, until it has shown `total`. @returns what it has shown */
    async followInParts(counts: readonly number[], total: number): Promise<string[]> {
      const shown: string[] = [];
      for (const count of [...counts, total]) {
        if (shown.length >= total) break;
        const ran = await follow(Math.min(count, total - shown.length));
        expect(ran.code, ran.stderr).toBe(0);
        shown.push(...idsOf(ran.stdout));
      }
      return shown;
    },
  };
}

interface Asked extends HistoryRequest {
  /** The messages after the cursor. */
  readonly following: readonly Entry[];
  /** All messages of the session. */
  readonly all: readonly Entry[];
  /** Never responds. */
  stall(): unknown;
  /** Restarts the service. */
  restart(): unknown;
}

type Respond = (asked: Asked) => unknown;

/** Sends the first messages, and the link to the others. */
function sendFirst({ json, following, url }: Asked, count: number): void {
  const last = following[count - 1]?.message_id ?? '';
  const next = count < following.length ? nextPath(url, 'after_message_id', last) : null;
  json(200, { results: following.slice(0, count), next });
}

function swapNeighbors<Item>(items: readonly Item[]): Item[] {
  return items.flatMap((item, index) => (index % 2 === 0 ? [...items.slice(index + 1, index + 2), item] : []));
}

const PAGES: Readonly<Record<string, Respond>> = {
  complete: (asked) => sendFirst(asked, asked.following.length),
  short: (asked) => sendFirst(asked, Math.ceil(asked.following.length / 2)),
  repeated: ({ json, following, all }) =>
    json(200, { results: all.slice(Math.max(0, all.length - following.length - 3)), next: null }),
  reordered: ({ json, following }) => json(200, { results: swapNeighbors(following), next: null }),
};

const FAILURES: Readonly<Record<string, Respond>> = {
  'a reset': ({ request }) => request.socket.resetAndDestroy(),
  'a 503': ({ json }) => json(503, { detail: 'later' }),
  'a 429': ({ json }) => json(429, {}, { 'retry-after': '2' }),
  'an error page': ({ response }) => response.writeHead(502, { 'content-type': 'text/html' }).end('<html>'),
  'a page that is cut off'({ response, following }) {
    const body = JSON.stringify({ results: following, next: null });
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
    response.write(body.slice(0, body.length / 2), () => response.destroy());
  },
  'no response': ({ stall }) => stall(),
  'a restart of the service': ({ restart }) => restart(),
};

const MESSAGES = 40;
const stops = fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 4 });

/** What happens at a request: messages arrive, some visible only later, and the machine may have slept before it. */
const steps = fc.infiniteStream(
  fc.record({
    answer: fc.constantFrom(...Object.entries({ ...PAGES, ...FAILURES })),
    arrivals: fc.nat(3),
    lateMs: fc.constantFrom(0, 0, 600, 2_500),
    sleptMs: fc.constantFrom(0, 0, 0, 0, 0, 600_000),
  }),
);

test('A tail shows every message once and the punctual ones in order, whatever fails, however pages are cut, when the machine sleeps, and wherever it is stopped and resumed', async () => {
  const property = fc.asyncProperty(steps, stops, async (requests, counts) => {
    const server = await historyServer();
    const clock = stallingClock();
    /** When the late messages become visible. */
    const visibleAt = new Map<string, number>();
    let total = 0;
    server.behave((request) => {
      const { answer, arrivals, lateMs, sleptMs } = requests.next().value;
      clock.leap(sleptMs);
      for (let count = 0; count < arrivals && total < MESSAGES; count += 1) {
        const session = 'aab'.charAt(total % 3);
        const before = server.sessions.get(session)?.length ?? 0;
        // A resumed tail does not look for what came before the first message that was shown.
        if (lateMs > 0 && before > 0) visibleAt.set(`${session}-${before}`, clock.now() + lateMs);
        server.add(session, 1);
        total += 1;
      }
      const entries = server.sessions.get(request.session) ?? [];
      const all = entries.filter(({ message_id }) => (visibleAt.get(message_id) ?? 0) <= clock.now());
      const following = all.slice(all.findIndex(({ message_id }) => message_id === request.after) + 1);
      const stall = () => clock.stall(request.response);
      answer[1]({ ...request, following, all, stall, restart: server.restart });
    });
    const shown = await tailOf(server, ['a', 'b'], clock).followInParts(counts, MESSAGES);
    for (const [session, entries] of server.sessions) {
      const ids = entries.map(({ message_id }) => message_id);
      const ofSession = shown.filter((id) => id.startsWith(session));
      expect(ofSession.toSorted()).toEqual(ids.toSorted());
      const isPunctual = (id: string): boolean => !visibleAt.has(id);
      expect(ofSession.filter(isPunctual)).toEqual(ids.filter(isPunctual));
    }
  });
  await fc.assert(property, { numRuns: propertyRuns(60, 4) });
});

test('A tail goes on after the machine slept for an hour, while it waited or while a request was under way', async () => {
  const server = await historyServer();
  const clock = leapingClock();
  const slept = { waiting: false, asking: false };
  server.add('s', 2);
  server.behave(({ json, after, request }, wellBehaved) => {
    const messages = server.sessions.get('s') ?? [];
    if (after === 's-1' && !slept.waiting) {
      slept.waiting = true;
      json(200, { results: [], next: null });
      setImmediate(() => {
        server.add('s', 3);
        clock.leap(3_600_000);
      });
    } else if (messages.length === 5 && after === 's-4' && !slept.asking) {
      slept.asking = true;
      server.add('s', 3);
      clock.leap(3_000_000);
      request.socket.resetAndDestroy();
    } else json(200, { results: wellBehaved(), next: null });
  });
  const { code, stdout } = await tailOf(server, ['s'], clock).follow(8);
  expect(slept).toEqual({ waiting: true, asking: true });
  expect({ code, shown: idsOf(stdout) }).toEqual({ code: 0, shown: Array.from({ length: 8 }, (_, at) => `s-${at}`) });
});

/** Follows a session that has one message when it is read first, and gets three more after these answers. */
async function followThrough(answers: readonly Respond[], clock: Clock = fastClock(), ...flags: readonly string[]) {
  const server = await historyServer();
  server.add('s', 1);
  let polls = 0;
  server.behave((request, wellBehaved) => {
    polls += 1;
    const respond = answers[polls - 2] ?? PAGES.complete;
    // The last one proves that the tail goes on.
    if (polls === answers.length + 2) server.add('s', 2);
    if (polls === answers.length + 5) server.add('s', 1);
    const all = server.sessions.get('s') ?? [];
    respond?.({ ...request, following: wellBehaved(), all, stall: () => undefined, restart: server.restart });
  });
  const { code, stdout, stderr } = await tailOf(server, ['s'], clock).follow(4, ...flags);
  return { code, stderr, shown: idsOf(stdout), polls };
}

const ALL = ['s-0', 's-1', 's-2', 's-3'];

test('An outage is reported once, and its end once, with the number of messages that arrived meanwhile', async () => {
  const { 'no response': _, ...immediate } = FAILURES;
  const { code, shown, stderr } = await followThrough(Object.values(immediate));
  expect({ code, shown }).toEqual({ code: 0, shown: ALL });
  expect(stderr).toMatch(/^warning: .*\nwarning: connection restored after .*; 2 messages arrived meanwhile\.\n$/);
});

test('A pause of ten seconds or more that the service asks for is told before it begins, and its end', async () => {
  const wait =
    (seconds: string): Respond =>
    ({ json }) =>
      json(429, {}, { 'retry-after': seconds });
  const told = await followThrough([wait('40')]);
  expect(told).toMatchObject({ code: 0, shown: ALL });
  expect(told.stderr).toMatch(/^warning: .*rate limit.* Continuing in 40s\.\nwarning: connection restored after 40s/);
  expect(await followThrough([wait('9')])).toMatchObject({ code: 0, shown: ALL, stderr: '' });
});

test('A request that fails after the machine slept is no outage', async () => {
  const clock = leapingClock();
  const sleep: Respond = ({ request }) => {
    clock.leap(3_600_000);
    request.socket.resetAndDestroy();
  };
  const followed = await followThrough([sleep], clock, '--max-outage', '5m');
  expect(followed).toMatchObject({ code: 0, shown: ALL, stderr: '' });
});

test.each([[], ['--max-outage', '10s']])('A page may be slow, as long as something comes: %s', async (...args) => {
  const clock = stallingClock();
  const dribble: Respond = ({ response }) => clock.dribble(response, '{"results":[],"next":null}');
  expect(await followThrough([dribble], clock, ...args)).toMatchObject({ code: 0, shown: ALL, stderr: '' });
});

test.each<[string, (clock: ReturnType<typeof stallingClock>) => Respond]>([
  [
    'connects slowly and never responds',
    (clock) => (request) => {
      clock.leap(7_000);
      return clock.stall(request.response);
    },
  ],
  ['cuts its pages after 100 s', (clock) => (request) => clock.dribble(request.response, '['.padEnd(100))],
])(
  'A service that %s is in an outage: the tail survives one such response, but not --max-outage',
  async (_, respond) => {
    const clock = stallingClock();
    const follow = (times: number) => followThrough(Array(times).fill(respond(clock)), clock, '--max-outage', '45s');
    expect(await follow(1)).toMatchObject({ code: 0, shown: ALL });
    expect(await follow(4)).toMatchObject({ code: 8, shown: ['s-0'] });
  },
);

test.each([
  ['401', 3],
  ['402', 6],
  ['403', 3],
])('A %s ends a tail that has read the history, with %i', async (status, code) => {
  const ended = await followThrough([({ json }) => json(Number(status), {})]);
  expect(ended).toMatchObject({ code, shown: ['s-0'], polls: 2 });
});

test.each<[string, Respond]>([
  ...[400, 404, 408, 422, 500].map((status): [string, Respond] => [
    `a ${status}`,
    ({ json }) => json(status, { code: 'no' }),
  ]),
  ['an unknown cursor', ({ json }) => json(422, { code: 'unknown_cursor' })],
  ['a redirect', ({ response }) => response.writeHead(302, { location: 'https://elsewhere.test/' }).end()],
  ['a body that is not JSON', ({ response }) => response.writeHead(200).end('It works!')],
  ['another shape', ({ json }) => json(200, { results: [{ text: 'without an id' }] })],
])('A tail that has read the history survives %s', async (_, respond) => {
  const { code, shown } = await followThrough(Array(5).fill(respond));
  expect({ code, shown }).toEqual({ code: 0, shown: ALL });
});

test('The place of a tail is recorded after its output: what could not be written is shown by the next tail', async () => {
  const server = await historyServer();
  const env = { PARTNER_BASE_URL: server.baseUrl, PARTNER_TOKEN: 'token-of-the-test', HOME: tempDirectory() };
  const args = ['chat', 'tail', '--source', 'src', '--session', 's', '--resume', '-o', 'json'];
  server.add('s', 5);
  const onStdout = (text: string): void => {
    if (idsOf(text).length > 2) throw Object.assign(new Error('EPIPE: the reader is gone'), { code: 'EPIPE' });
  };
  // It does not follow for nobody, either.
  const broken = await run(args, { env, clock: fastClock(), onStdout });
  expect(broken.code).toBe(0);
  const read = idsOf(broken.stdout).slice(0, 2);
  const rest = await run([...args, '--no-follow'], { env, clock: fastClock() });
  expect([...read, ...idsOf(rest.stdout)]).toEqual(['s-0', 's-1', 's-2', 's-3', 's-4']);
});

/** The texts in the output of a tail, in order. */
const textsOf = (stdout: string): string[] =>
  stdout.split('\n').flatMap((line) => (line === '' ? [] : JSON.parse(line).text));

/** A session whose only message is a reply that the agent still writes. @param polls after so many requests, it is whole */
async function unfinishedReply(polls?: number) {
  const server = await historyServer();
  let reply = { text: 'Let me', status: 'in_progress' };
  const finish = (): void => {
    reply = { text: 'Let me see.', status: 'completed' };
  };
  server.behave(({ json, after }) => {
    if (server.requests.length === polls) finish();
    json(200, { results: after === 's-0' ? [] : [{ message_id: 's-0', role: 'assistant', ...reply }], next: null });
  });
  return { server, finish };
}

test('A tail that follows shows a reply that the agent still writes only once it is whole', async () => {
  const { server } = await unfinishedReply(4);
  const { code, stdout } = await tailOf(server, ['s'], fastClock()).follow(1);
  expect({ code, texts: textsOf(stdout) }).toEqual({ code: 0, texts: ['Let me see.'] });
});

test('A reply that a tail showed before it was whole is shown by the next one, too', async () => {
  const { server, finish } = await unfinishedReply();
  const { read } = tailOf(server, ['s'], fastClock());
  expect(textsOf((await read()).stdout)).toEqual(['Let me']);
  finish();
  expect(textsOf((await read()).stdout)).toEqual(['Let me see.']);
  expect(textsOf((await read()).stdout)).toEqual([]);
});

test('The place of a tail is that of one service: a session of the same name at another one is shown from its first message', async () => {
  const home = tempDirectory();
  for (const server of [await historyServer(), await historyServer()]) {
    server.add('s', 3);
    const { stdout } = await tailOf(server, ['s'], fastClock(), home).read();
    expect(idsOf(stdout)).toEqual(['s-0', 's-1', 's-2']);
  }
});
