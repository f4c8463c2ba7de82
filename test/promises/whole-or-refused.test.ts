import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  cut,
  type FakeRequest,
  type Handler,
  json,
  reset,
  sendJson,
  startFakeService,
} from '../support/fake-service.ts';
import { PLAYS_ALL, propertyRuns } from '../support/properties.ts';
import { fastClock, type Ran, run, tempDirectory, tinyRandom } from '../support/run.ts';
import { write } from '../support/service.ts';

/*
 * A list is whole, or it is refused. A request that fails is never the end of a list, and nothing is created, planned, or exported
 * on less than all of it. Where only the service stands in the way of the proof, the list is shown with a warning.
 */

type Item = Readonly<Record<string, unknown>>;

/** One page of a list. */
interface Page {
  readonly items: readonly Item[];
  /** Its number, from 1. */
  readonly number: number;
  readonly from: number;
  readonly total: number;
  readonly hasMore: boolean;
}

/** How a service pages its lists. */
interface Style {
  readonly size?: number;
  /** The index of the first item that a request asks for. */
  readonly start: (query: URLSearchParams, size: number) => number;
  readonly send: (page: Page) => {
    readonly body: unknown;
    readonly headers?: Record<string, string>;
    readonly status?: number;
  };
  /** What an operator has set for each list. */
  readonly next?: string;
}

const byPage = (query: URLSearchParams, size: number): number => (Number(query.get('page') ?? 1) - 1) * size;
const byParameter =
  (name: string) =>
  (query: URLSearchParams): number =>
    Number(query.get(name) ?? 0);
/** Ignores every parameter. */
const fromStart = (): number => 0;

const LINKS: Style = {
  start: byPage,
  send: ({ items, number, hasMore }) => ({ body: { results: items, next: hasMore ? `?page=${number + 1}` : null } }),
};
const TOKENS: Style = {
  start: (query) => Number((query.get('cursor') ?? 'c0').slice(1)),
  send: ({ items, from, hasMore }) => ({ body: { items, next_cursor: hasMore ? `c${from + items.length}` : null } }),
};
const LINK_HEADERS: Style = {
  start: byPage,
  send: ({ items, number, hasMore }) => ({
    body: items,
    headers: hasMore ? { link: `<?page=1>; rel="prev", <?page=${number + 1}>; rel=next, <?page=9>; rel="last"` } : {},
  }),
};
/** Says nothing of pages. */
const SILENT: Style = { start: fromStart, send: ({ items }) => ({ body: items }) };
const NUMBERS: Style = { ...SILENT, start: byPage, next: 'page:page' };
/** As Django REST framework counts. */
const COUNTED: Style = {
  start: byPage,
  send: ({ items, number, total, hasMore }) => ({
    body: { count: total, next: hasMore ? `?page=${number + 1}` : null, results: items },
  }),
};

const numbered = (count: number, item: (number: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => item(index + 1));

const job = (number: number): Item => ({
  cron_job_id: `job-${number}`,
  agent_id: 'agent-1',
  name: `job ${number}`,
  instructions: 'Greet.',
  schedule: { type: 'cron', data: { minute: '30', hour: '7', day_of_week: '*' }, timezone: 'UTC' },
});
const space = (number: number): Item => ({
  space_id: `space-${number}`,
  external_space_id: `customer-${number}`,
  name: `Customer ${number}`,
});

/** Responds to a request for a list in place of the service; undefined leaves it to the service. */
type Intervention = (page: number, request: FakeRequest) => Handler | undefined;

/** A service whose lists of spaces and of jobs have so many items; each space has the same agent. */
async function startLists(count: number, style: Style) {
  const { size = 10, start, send } = style;
  const agents: Item[] = [{ agent_id: 'agent-1', name: 'Support', template_id: 'tmpl_support' }];
  const lists = { spaces: numbered(count, space), jobs: numbered(count, job), agents };
  let intervene: Intervention = () => undefined;
  const list =
    (name: keyof typeof lists): Handler =>
    (request, response, times) => {
      const items = lists[name];
      const from = Math.max(0, start(request.query, size));
      const number = Math.floor(from / size) + 1;
      const instead = intervene(number, request);
      if (instead) return instead(request, response, times);
      const page = { items: items.slice(from, from + size), number, from, total: items.length };
      const { body, headers, status } = send({ ...page, hasMore: from + size < items.length });
      return sendJson(response, body, status, headers);
    };
  const service = await startFakeService({
    'GET /automation/spaces/': list('spaces'),
    'GET /automation/partner-cron-jobs/': list('jobs'),
    'GET /automation/spaces/{id}/agents/': list('agents'),
    'POST /automation/partner-cron-jobs/': json({ cron_job_id: 'job-new' }, 201),
    'POST *': json({ space_id: 'space-new', agents: [{ agent_id: 'agent-1', name: 'Support' }] }, 201),
  });
  const env = { PARTNER_BASE_URL: service.baseUrl, PARTNER_TOKEN: 'pat_of_the_test_0123', HOME: tempDirectory() };
  /** Runs a command on a machine that keeps its contract and its state. */
  const on = (argv: readonly string[]): Promise<Ran> => run(argv, { env, clock: fastClock(), random: tinyRandom });
  if (style.next !== undefined)
    for (const leaf of ['spaces.list.next', 'cron_jobs.list.next']) await on(['contract', 'set', leaf, style.next]);
  return {
    ...service,
    lists,
    on,
    /** Replaces responses from now on. */
    intervene: (next: Intervention) => {
      intervene = next;
    },
    /** Stops replacing responses. */
    heal: () => {
      intervene = () => undefined;
    },
    /** Runs a command. @returns its result, and the number of requests that it took */
    counted: async (argv: readonly string[]) => {
      const before = service.requests.length;
      const { code, stderr } = await on(argv);
      return { code, stderr, requests: service.requests.length - before };
    },
  };
}

type Lists = Awaited<ReturnType<typeof startLists>>;

const JOBS = ['cron', 'list', '-o', 'json'];
const SPACES = ['spaces', 'list', '-o', 'json'];

const createJob = (number: number): string[] => [
  ...['cron', 'create', '--agent', 'agent-1', '--name', `job ${number}`],
  ...['--instructions', 'Sum up the day.', '--schedule', '0 18 * * 1-5', '-o', 'json'],
];

const writeManifest = (number: number): string =>
  write(
    'space.yaml',
    `external_space_id: customer-${number}\nspace: { name: Customer ${number} }\nagents:\n  - { template_id: tmpl_support, name: Support }\n`,
  );

/** The commands that must not act on less than a whole list, for the job and the space of a number. */
const guards = (number: number): readonly (readonly string[])[] => [
  createJob(number),
  ['provision', writeManifest(number), '-o', 'json'],
  ['plan', writeManifest(number), '-o', 'json'],
  ['export', '--out', tempDirectory()],
];

/** The numbers at the ends of the ids that a list shows. */
function shown(ran: Ran): readonly number[] {
  const items = ran.json<readonly Item[]>();
  return items.map((item) => Number(/\d+$/.exec(String(item.cron_job_id ?? item.space_id))?.[0]));
}

const upTo = (count: number, first = 1): number[] => Array.from({ length: count - first + 1 }, (_, i) => first + i);

/** Expects that a list is shown without a warning. */
function expectShown(ran: Ran, numbers: readonly number[]): void {
  expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: '' });
  expect(shown(ran)).toEqual(numbers);
}

/** Expects that a command is refused, that nothing is shown as its result, and that nothing was sent. */
async function expectRefused(
  service: Lists,
  argv: readonly string[],
  names: string | RegExp = '',
  why = '',
): Promise<void> {
  const ran = await service.on(argv);
  expect({ argv, code: ran.code, stdout: ran.stdout }, `${why}\n${ran.stderr}`).toEqual({ argv, code: 8, stdout: '' });
  expect(ran.stderr).toMatch(names);
  expect(service.posts(), `${argv.join(' ')} sent nothing`).toEqual([]);
}

const html =
  (status: number): Handler =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'text/html' }).end('<html><title>Not here</title></html>');
  };

/** What is the failure of the service or the network, whatever was read before. */
const FAILURES: readonly (readonly [string, Handler])[] = [
  ['answers 500', json({ detail: 'Internal error.' }, 500)],
  ['answers 501', json({ detail: 'Not implemented.' }, 501)],
  ['answers 503', json({ detail: 'Try again later.' }, 503)],
  ['resets the connection', reset],
  ['breaks off', cut('[{"cron_job_id": "job-21"')],
  ['is an error in a 200', json({ success: false, error: 'The database is down.' })],
  ['is empty', (_, response) => response.writeHead(200).end()],
  ['is the page of a gateway', html(200)],
];

/** What has an exit code of its own. */
const REJECTIONS: readonly (readonly [string, Handler])[] = [
  ['a 400', json({ detail: 'Bad request.' }, 400)],
  ['a 422', json({ detail: 'Unprocessable.' }, 422)],
  ['a 404 of a gateway', html(404)],
];

describe('a request that fails is never the end of a list', () => {
  const styles: readonly (readonly [string, Style])[] = [
    ['links', LINKS],
    ['Link headers', LINK_HEADERS],
    ['tokens', TOKENS],
    ['numbers that are set', NUMBERS],
  ];
  /** All at numbered pages, where only the fault tells the end, and one by the other ways; the slow tests play all. */
  const sample = (faults: typeof FAILURES, style: Style) =>
    faults.slice(0, style === NUMBERS ? faults.length : propertyRuns(faults.length, 1));

  test.each(styles)(
    'A list of 25 by %s whose page 3 fails is not shown as 20, and its job 25 is not created again',
    async (_, style) => {
      const service = await startLists(25, style);
      for (const [fault, handler] of sample(FAILURES, style)) {
        service.intervene((page) => (page === 3 ? handler : undefined));
        for (const argv of [JOBS, createJob(25)]) await expectRefused(service, argv, '', `page 3 ${fault}`);
      }
      // The last page that is rejected after two that worked, whatever its exit code.
      for (const [fault, handler] of sample(REJECTIONS, style)) {
        service.intervene((page) => (page === 3 ? handler : undefined));
        const ran = await service.on(JOBS);
        expect({ fault, isDone: ran.code === 0, stdout: ran.stdout }).toEqual({ fault, isDone: false, stdout: '' });
        expect((await service.on(createJob(25))).code, fault).not.toBe(0);
      }
      service.heal();
      expectShown(await service.on(JOBS), upTo(25));
      expect((await service.on(createJob(25))).code).toBe(5);
      expect(service.posts()).toEqual([]);
    },
  );

  test('A page that a link leads to is never missing: its 404 from the service itself is no end either', async () => {
    const service = await startLists(25, LINKS);
    service.intervene((page) => (page === 3 ? json({ detail: 'Not found.' }, 404) : undefined));
    const ran = await service.on(JOBS);
    expect({ isDone: ran.code === 0, stdout: ran.stdout }).toEqual({ isDone: false, stdout: '' });
  });

  test('Nothing is created, planned, or exported while page 3 of a list with set numbers answers 403 or 500', async () => {
    const service = await startLists(25, NUMBERS);
    const fail = (status: number) =>
      service.intervene((page) => (page === 3 ? json({ detail: 'No.' }, status) : undefined));
    // An export needs the permission, and says so.
    fail(403);
    for (const argv of guards(25).slice(0, 3)) await expectRefused(service, argv, /the list of \w+ \(403\)/);
    fail(500);
    for (const argv of [...guards(25), SPACES]) await expectRefused(service, argv);
    service.heal();
    const codes = [];
    for (const argv of guards(25)) codes.push((await service.on(argv)).code);
    expect(codes).toEqual([5, 0, 0, 0]);
    expect(service.posts()).toEqual([]);
  });

  test('A plan is not applied while page 3 of the list of spaces answers 500', async () => {
    const service = await startLists(25, NUMBERS);
    const plan = join(tempDirectory(), 'plan.json');
    expect((await service.on(['plan', writeManifest(26), '--out', plan])).code).toBe(0);
    service.intervene((page) => (page === 3 ? json({ detail: 'Internal error.' }, 500) : undefined));
    await expectRefused(service, ['apply', plan, '-o', 'json']);
  });

  test('A page that fails once with 503 is asked for again, and the list is whole without a warning', async () => {
    const service = await startLists(25, NUMBERS);
    let failures = 0;
    service.intervene((page) => (page === 3 && failures++ === 0 ? json({ detail: 'Later.' }, 503) : undefined));
    expectShown(await service.on(JOBS), upTo(25));
  });
});

describe('behind the last numbered page, a list ends', () => {
  test.each<[string, Intervention]>([
    ['a page without items', () => undefined],
    ['a 404 of the service itself', (page) => (page === 3 ? json({ detail: 'Invalid page.' }, 404) : undefined)],
    ['the last page again, for every number', (page) => (page > 2 ? json(numbered(20, job).slice(10)) : undefined)],
  ])('with %s: the list is whole without a warning', async (_, intervention) => {
    const service = await startLists(20, NUMBERS);
    service.intervene(intervention);
    expectShown(await service.on(JOBS), upTo(20));
    expect((await service.on(createJob(20))).code).toBe(5);
  });

  test('A numbered page that repeats the page before is not the last one if the page after it has other items', async () => {
    const service = await startLists(35, NUMBERS);
    service.intervene((page) => (page === 3 ? json(numbered(20, job).slice(10)) : undefined));
    await expectRefused(service, JOBS);
    await expectRefused(service, createJob(35));
  });
});

describe('a list in a 200 that cannot be read', () => {
  const bodies: readonly (readonly [unknown, string])[] = [
    ['nothing', 'partnerctl contract set '],
    [{ status: 'ok' }, 'partnerctl contract set '],
    [[{ name: 'Daily', title: 'Daily' }], 'partnerctl contract set '],
    [{ total: 2, items: [] }, 'partnerctl contract set '],
    // An error of the service says nothing about the contract.
    [{ errors: [{ message: 'Away.' }], data: [] }, ''],
  ];

  test.each(bodies)('may have anything, so that nothing is created, planned, or exported: %j', async (body, names) => {
    const service = await startLists(1, SILENT);
    service.intervene(() => json(body));
    for (const argv of guards(1)) await expectRefused(service, argv, names);
    // The same of a list of agents.
    service.intervene((_, { path }) => (path.includes('/agents/') ? json(body) : undefined));
    for (const argv of guards(1).slice(1))
      expect(await service.on(argv)).toMatchObject({ code: 8, stderr: expect.stringContaining(names) });
    expect(service.posts()).toEqual([]);
  });

  test('is not null, which is an empty list', async () => {
    const service = await startLists(1, SILENT);
    service.intervene(() => json(null));
    for (const argv of guards(1)) expect(await service.on(argv), argv.join(' ')).toMatchObject({ code: 0, stderr: '' });
    expect(service.posts()).toHaveLength(2);
  });
});

describe('what speaks of more is more', () => {
  test.each<[string, ReturnType<Style['send']>]>([
    ['the status 206', { body: [], status: 206 }],
    ['`Content-Range: items 0-9/25`', { body: [], headers: { 'content-range': 'items 0-9/25' } }],
    ['`Next-Range`', { body: [], headers: { 'next-range': 'id ]job-10..; max=10' } }],
    ['`spaces_total`', { body: { spaces_total: 25 } }],
    ['`total_spaces`', { body: { total_spaces: 25 } }],
    ['`current` of `last`', { body: { current: 1, last: 3 } }],
    ['`meta.current` of `meta.last`', { body: { meta: { current: 1, last: 3 } } }],
  ])('A page with %s, and no way to the next one, is refused with the command', async (_, said) => {
    const send = ({ items }: Page) => ({
      ...said,
      body: Array.isArray(said.body) ? items : { items, ...Object(said.body) },
    });
    const service = await startLists(25, { start: fromStart, send });
    await expectRefused(service, SPACES, 'partnerctl contract set spaces.list.next ');
    for (const argv of guards(25).slice(1, 3)) await expectRefused(service, argv, 'contract set spaces.list.next ');
  });

  test.each<[string, Partial<ReturnType<Style['send']>>]>([
    ['`Content-Range: items 0-9/10`', { headers: { 'content-range': 'items 0-9/10' } }],
    ['`Content-Range: items 0-9/10` with a 206', { headers: { 'content-range': 'items 0-9/10' }, status: 206 }],
    ['page 1 of 1', { headers: { 'x-page': '1', 'x-total-pages': '1' } }],
  ])('A list of ten that says with %s that it is all is read with one request', async (_, said) => {
    const service = await startLists(10, { start: fromStart, send: ({ items }) => ({ body: items, ...said }) });
    expect(await service.counted(SPACES)).toEqual({ code: 0, stderr: '', requests: 1 });
  });
});

test('A page may be empty in the middle of a list, and repeat what shifted from the page before', async () => {
  const service = await startLists(0, SILENT);
  const pages = [[1], [], [2], [2, 3]].map((numbers, index) =>
    json({ results: numbers.map(space), next: index < 3 ? `?page=${index + 2}` : null }),
  );
  service.respond({ 'GET *': pages });
  expectShown(await service.on(SPACES), upTo(3));
});

test('A last page that is the page before once more is not the end of a list', async () => {
  const service = await startLists(25, LINKS);
  const again = (item: typeof job) => json({ results: numbered(20, item).slice(10), next: null });
  service.intervene((page, { path }) => (page === 3 ? again(path.includes('cron') ? job : space) : undefined));
  for (const argv of [JOBS, SPACES, ...guards(25)]) await expectRefused(service, argv, 'list.next');
});

test('A page without items and total, in place of page 3 of a list that stated 25, is not its end', async () => {
  const service = await startLists(25, COUNTED);
  service.intervene((page) => (page === 3 ? json({ count: 0, next: null, results: [] }) : undefined));
  for (const argv of [JOBS, SPACES, ...guards(25)]) await expectRefused(service, argv, 'list.next');
});

test('A Link header that cannot be read is not taken for the end of a list', async () => {
  const service = await startLists(0, SILENT);
  service.respond(json([space(1)], 200, { link: '<?page=2; rel="next"' }));
  await expectRefused(service, SPACES, 'partnerctl contract set spaces.list.next ');
});

const endless =
  (next: (number: number) => object): Handler =>
  (_request, response, count) =>
    sendJson(response, { items: [{ space_id: `space-${count}`, name: 'Customer' }], ...next(count) });

test.each<[string, number, (number: number) => object]>([
  ['a link to itself', 1, () => ({ next: '/v1/automation/spaces/' })],
  ['a link back from page 2 to page 2', 2, () => ({ next: '?page=2' })],
  ['links in a circle of three', 4, (number) => ({ next: `?page=${2 + (number % 3)}` })],
  ['a token that does not change', 2, () => ({ next_cursor: 'c1' })],
  ['tokens in a circle of two', 3, (number) => ({ next_cursor: `c${number % 2}` })],
])(
  'A list with %s is refused after %i requests, though each page has new items: no page is asked for again',
  async (_, requests, next) => {
    const service = await startLists(0, SILENT);
    service.respond({ 'GET *': endless(next) });
    await expectRefused(service, SPACES);
    expect(service.requests).toHaveLength(requests);
  },
);

describe('a total that changes while the list is read', () => {
  /** Changes the list before each request for page 3, so many times. */
  const changing = (service: Lists, times: number, change: (jobs: Item[]) => void): void => {
    let changes = 0;
    service.intervene((page) => {
      if (page === 3 && changes < times) {
        changes += 1;
        change(service.lists.jobs);
      }
      return undefined;
    });
  };

  test('A job added at the end is one more, and the list is whole: its ids add up to the new total', async () => {
    const service = await startLists(25, COUNTED);
    changing(service, 1, (jobs) => jobs.push(job(26)));
    const { requests, ...ran } = await service.counted(JOBS);
    expect({ ...ran, requests }).toEqual({ code: 0, stderr: '', requests: 3 });
    expectShown(await service.on(JOBS), upTo(26));
  });

  test('A job added at the front moves the others, so that one is not seen: the list is read once more', async () => {
    const service = await startLists(25, COUNTED);
    changing(service, 1, (jobs) => jobs.unshift(job(0)));
    expect(shown(await service.on(JOBS)).toSorted((one, other) => one - other)).toEqual(upTo(25, 0));
  });

  test('A job removed moves another one out of sight, though the ids add up: the list is read once more', async () => {
    const service = await startLists(25, COUNTED);
    changing(service, 1, (jobs) => jobs.shift());
    // What the first page had was there when it was read.
    expect(shown(await service.on(JOBS)).toSorted((one, other) => one - other)).toEqual(upTo(25));
  });

  test('A list that shrinks again on the second reading is reported, not shown, and no job is created', async () => {
    const service = await startLists(40, COUNTED);
    changing(service, 2, (jobs) => jobs.shift());
    await expectRefused(service, JOBS, /changed/);
    changing(service, 2, (jobs) => jobs.shift());
    await expectRefused(service, createJob(40), /changed/);
    expectShown(await service.on(JOBS), upTo(40, 5));
  });
});

describe('a list that says nothing of pages', () => {
  test('Fewer than ten items are all: not one request more', async () => {
    const service = await startLists(9, SILENT);
    expect(await service.counted(JOBS)).toEqual({ code: 0, stderr: '', requests: 1 });
  });

  test.each([10, 12, 100])('%i items that are all cost at most two requests more, and no warning', async (count) => {
    const service = await startLists(count, { ...SILENT, size: 1_000 });
    for (const argv of [JOBS, SPACES]) {
      const { requests, ...ran } = await service.counted(argv);
      expect(ran).toEqual({ code: 0, stderr: '' });
      expect(requests).toBeLessThanOrEqual(3);
    }
    expect((await service.on(createJob(count))).code).toBe(5);
    expect(service.posts()).toEqual([]);
    expect(await service.on(createJob(count + 1))).toMatchObject({ code: 0, stderr: '' });
  });

  const ways: readonly (readonly [string, Style['start']])[] = [
    ['page:page', byPage],
    ['page:page:0', (query, size) => byPage(query, size) + (query.has('page') ? size : 0)],
    ['offset:offset', byParameter('offset')],
    ['offset:skip', byParameter('skip')],
  ];
  // Of ten and of twelve in turn; the slow tests play both of each.
  const parts = ways.flatMap(([next, start], index) =>
    (PLAYS_ALL ? [10, 12] : [10 + 2 * (index % 2)]).map((size) => [size, next, start] as const),
  );

  test.each(parts)(
    '%i of more items, with the rest behind %s, are refused, and all are read once it is set',
    async (size, next, start) => {
      const count = 2 * size + 1;
      const service = await startLists(count, { ...SILENT, start, size });
      await expectRefused(service, JOBS, 'partnerctl contract set cron_jobs.list.next ');
      await expectRefused(service, createJob(count), 'partnerctl contract set cron_jobs.list.next ');
      expect((await service.on(createJob(count))).stderr).not.toContain('cron_jobs.list.next none');
      await service.on(['contract', 'set', 'cron_jobs.list.next', next]);
      expectShown(await service.on(JOBS), upTo(count));
      expect((await service.on(createJob(count))).code).toBe(5);
    },
  );

  /** Rejects parameters that it does not know. */
  const strictly: Intervention = (_, { query }) =>
    query.size > 0 ? json({ detail: 'Unknown parameter.' }, 400) : undefined;

  test('Ten items of a service that rejects the question are shown with a warning that has the command, which ends it', async () => {
    const service = await startLists(10, SILENT);
    service.intervene(strictly);
    for (const [argv, leaf] of [
      [JOBS, 'cron_jobs.list.next'],
      [SPACES, 'spaces.list.next'],
    ] as const) {
      const ran = await service.on(argv);
      expect(ran.code, ran.stderr).toBe(0);
      expect(shown(ran)).toEqual(upTo(10));
      expect(ran.stderr).toContain(`partnerctl contract set ${leaf} none`);
      await service.on(['contract', 'set', leaf, 'none']);
      expectShown(await service.on(argv), upTo(10));
    }
  });

  test.each([501, 405, 403])('A %i to the question for more does not say that there is no list', async (status) => {
    const service = await startLists(10, { ...SILENT, start: byPage, size: 10 });
    service.intervene((_, { query }) => (query.size > 0 ? json({ detail: 'Not now.' }, status) : undefined));
    for (const argv of guards(11)) {
      const { code, stderr } = await service.on(argv);
      expect(code, `${argv.join(' ')}\n${stderr}`).toBe(8);
    }
    expect(service.posts()).toEqual([]);
  });

  test('Where pages count from 0, an empty answer to one question proves nothing while the other one is rejected', async () => {
    const fromZero = (query: URLSearchParams, size: number): number => Number(query.get('page') ?? 0) * size;
    const service = await startLists(11, { ...SILENT, start: fromZero });
    service.intervene((page) => (page === 2 ? json({ detail: 'Try again.' }, 400) : undefined));
    for (const argv of guards(11)) await expectRefused(service, argv, '.list.next');
  });

  test('On such a list nothing is created, planned, or exported until the same command says that it is whole', async () => {
    const service = await startLists(10, SILENT);
    service.intervene(strictly);
    const [create = [], provision = [], plan = [], exporting = []] = guards(11);
    await expectRefused(service, create, 'partnerctl contract set cron_jobs.list.next none');
    for (const argv of [provision, plan, exporting])
      await expectRefused(service, argv, 'partnerctl contract set spaces.list.next none');
    const lists = ['cron_jobs.list.next', 'none', 'spaces.list.next', 'none'];
    await service.on(['contract', 'set', ...lists]);
    for (const argv of [create, plan, exporting, provision])
      expect(await service.on(argv), argv.join(' ')).toMatchObject({ code: 0, stderr: '' });
    expect(service.posts()).toHaveLength(2);
  });

  test('While such a list is still short, `doctor` and `contract check` name the command', async () => {
    const service = await startLists(3, SILENT);
    service.intervene(strictly);
    for (const argv of [['doctor'], ['contract', 'check']]) {
      const { stdout, stderr } = await service.on(argv);
      for (const leaf of ['cron_jobs.list.next', 'spaces.list.next'])
        expect(stdout + stderr, argv.join(' ')).toContain(`partnerctl contract set ${leaf} none`);
    }
  });
});

describe('a stated total proves the way that brings it', () => {
  test.each<[string, Style]>([
    [
      '`{items, total}` by `offset`, as FastAPI sends them',
      { start: byParameter('offset'), send: ({ items, total }) => ({ body: { items, total } }) },
    ],
    [
      '`{total, limit, skip, data}` by `skip`, as Feathers sends them',
      {
        start: byParameter('skip'),
        send: ({ items, total, from }) => ({ body: { total, limit: 10, skip: from, data: items } }),
      },
    ],
    ['`{data, total}` by `page`', { start: byPage, send: ({ items, total }) => ({ body: { data: items, total } }) }],
    [
      'a bare array and `X-Total-Count` by `offset`',
      {
        start: byParameter('offset'),
        send: ({ items, total }) => ({ body: items, headers: { 'x-total-count': String(total) } }),
      },
    ],
  ])('A list of 25 with %s is read to its end without a setting', async (_, style) => {
    const service = await startLists(25, style);
    expectShown(await service.on(JOBS), upTo(25));
    expect((await service.on(createJob(25))).code).toBe(5);
    expect(service.posts()).toEqual([]);
  });

  test('A list that ends with fewer items than it states is refused', async () => {
    const send = ({ items, from }: Page) => ({ body: { items, offset: from, total: 27 } });
    await expectRefused(await startLists(25, { start: byParameter('offset'), send }), SPACES, 'run the command again');
  });

  test('While a further page has nothing, no refusal says how to take the first page for the whole list', async () => {
    const send = ({ items, total }: Page) => ({ body: { items, total } });
    const service = await startLists(25, { start: byParameter('offset'), send });
    service.intervene((page) => (page === 3 ? json({ items: [], total: 25 }) : undefined));
    for (const argv of guards(25)) {
      await expectRefused(service, argv, 'list.next');
      expect((await service.on(argv)).stderr).not.toContain('list.next none');
    }
    service.heal();
    expect((await service.on(createJob(25))).code).toBe(5);
  });

  test('A total that no tried way brings is refused with the command', async () => {
    const send = ({ items, total }: Page) => ({ body: { items, total } });
    const service = await startLists(25, { start: byParameter('von'), send });
    await expectRefused(service, JOBS, 'partnerctl contract set cron_jobs.list.next ');
    await service.on(['contract', 'set', 'cron_jobs.list.next', 'offset:von']);
    expectShown(await service.on(JOBS), upTo(25));
  });
});

test('A size that is set is sent with each page: a list of 1,000 takes ten requests', async () => {
  const service = await startLists(1_000, SILENT);
  service.respond((request, response) => {
    const [from, size] = [byParameter('offset')(request.query), Number(request.query.get('limit') ?? 10)];
    sendJson(response, { items: numbered(1_000, job).slice(from, from + size), total: 1_000 });
  });
  for (const [leaf, value] of [
    ['cron_jobs.list.next', 'offset:offset'],
    ['cron_jobs.list.size', 'limit:100'],
  ] as const)
    expect(await service.on(['contract', 'set', leaf, value])).toMatchObject({ code: 0 });
  expectShown(await service.on(JOBS), upTo(1_000));
  expect(service.requests.map(({ query }) => query.get('limit'))).toEqual(Array.from({ length: 10 }, () => '100'));
});
