import { expect, it } from 'vitest';
import { HISTORY } from '../support/chat.ts';
import { argumentsOf, COMMAND_LINES, startScene } from '../support/command-lines.ts';
import {
  type FakeRequest,
  forwardTo,
  type Handler,
  json,
  passOn,
  reset,
  type Step,
  startFakeService,
} from '../support/fake-service.ts';
import { fasterClock, type Ran, run } from '../support/run.ts';

/*
 * Commands × faults of the service and the network, each at the first, a middle, and the last request. Whatever happens,
 * the exit code is true: after 0, all is there and shown; after a failure that is certain, no job and no file was made;
 * and the same command completes what is missing, and makes nothing twice.
 */

/** FAULTS_EVERY=4 takes one cell in four. */
const EVERY = Number(process.env.FAULTS_EVERY ?? 1);
/** How much faster the clock of the commands is, so that pauses between attempts do not matter. */
const CLOCK_SPEED = 20;
/** How long lists are old, on the machine's clock: five seconds on that of the commands. */
const STALE_MS = 250;

interface Command {
  readonly name: string;
  /** Its words in the catalogue, and more flags. */
  readonly words: string;
  readonly flags?: string;
  /** What it adds at the service, each once. */
  readonly adds?: readonly string[];
  /** What stdout contains exactly once after success. */
  readonly shows?: readonly string[];
  /** Whether it has several items, of which some can be done when it fails. */
  readonly hasItems?: true;
}

const agents = (space: string, ...names: readonly string[]) => [
  `space ${space}`,
  ...names.map((name) => `agent ${space} ${name}`),
];

const IN_SESSION = '--source {source} --session anna';

const COMMANDS: readonly Command[] = [
  {
    name: 'spaces list',
    words: 'spaces list',
    flags: '-o json',
    shows: ['acme', 'other-1', 'other-2', 'other-3', 'other-4'].map((id) => `"external_space_id":"${id}"`),
  },
  { name: 'provision', words: 'provision {new.yaml}', adds: agents('new', 'Support', 'Sales', 'Billing') },
  {
    name: 'provision with chats and jobs',
    words: 'provision {full.yaml}',
    hasItems: true,
    adds: [...agents('full', 'Support', 'Sales'), 'job full Support morning', 'job full Sales morning'],
  },
  {
    name: 'provision of two spaces',
    words: 'provision {two.yaml}',
    flags: '--concurrency 1',
    hasItems: true,
    adds: [...agents('anna', 'Support', 'Sales'), ...agents('bert', 'Support', 'Sales')],
  },
  { name: 'chat setup', words: 'chat setup ext:acme name:Support' },
  {
    name: 'chat send --wait',
    words: `chat send ${IN_SESSION} --wait Hello`,
    flags: '--external-id e2',
    adds: ['message Hello'],
    shows: ['Noted.'],
  },
  {
    name: 'chat tail',
    words: `chat tail ${IN_SESSION} --from-start --no-follow`,
    flags: '--max-outage 1m',
    shows: ['Hello.', 'Noted.'],
  },
  { name: 'upload', words: 'upload {note.txt}', adds: ['file note.txt'] },
  {
    name: 'upload of three files',
    words: 'upload {note.txt} {rows.ndjson} {new.yaml}',
    flags: '--concurrency 1',
    hasItems: true,
    adds: ['file note.txt', 'file rows.ndjson', 'file new.yaml'],
  },
  {
    name: 'cron create',
    words: 'cron create --agent {agent} --name daily --instructions Look. --schedule @daily',
    flags: '--ensure',
    adds: ['job acme Support daily'],
  },
  {
    name: 'cron create -f',
    words: 'cron create -f {jobs.yaml}',
    flags: '--ensure',
    hasItems: true,
    adds: ['one', 'two', 'three'].map((name) => `job acme Support ${name}`),
  },
];

interface Fault {
  readonly name: string;
  /** The exit codes that it may lead to, which depends on the request that has it; and 10 where some items are done. */
  readonly codes: readonly number[];
  /** Which requests can have it: all by default. */
  readonly only?: 'GET' | 'POST';
  /** Whether every request has it: from the faulty one on, until the end of the command; or from the first one. */
  readonly lasts?: 'from there' | 'throughout';
  /** Whether nothing listens from the start. */
  readonly refuses?: true;
  /** A rule of the sandbox, */
  readonly rule?: Readonly<Record<string, unknown>>;
  /** or a step in front of it. */
  readonly step?: (target: string, elsewhere: string) => Step;
  /** Whether lists do not show yet what the command adds. */
  readonly isStale?: true;
}

/** Responds with what the service responds, changed. */
const changed =
  (change: (text: string, elsewhere: string) => string) =>
  (target: string, elsewhere: string): Handler =>
  async (request, response) => {
    const answer = await passOn(request, target);
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(change(answer.text, elsewhere));
  };

/** An error in the service's own format. */
const problem = (status: number, code: string) => () => json({ error: { code, message: 'Not now.' } }, status);

/** Resets a connection that has served a request before, as if it had just been closed. */
const resetIfReused = (target: string, used = new WeakSet<object>()): Step => ({
  onHeaders(request, response, count) {
    if (used.has(request.connection)) return void request.connection.resetAndDestroy();
    used.add(request.connection);
    return forwardTo(target).onHeaders(request, response, count);
  },
});

const RESET_AFTER = { kind: 'reset', stage: 'after' };

const FAULTS: readonly Fault[] = [
  { name: 'refused', codes: [8], lasts: 'throughout', refuses: true },
  { name: 'reset before', codes: [0, 9], step: () => reset },
  { name: 'reset after', codes: [0, 9], rule: RESET_AFTER },
  { name: 'reset always', codes: [0, 8, 9, 11], lasts: 'from there', rule: RESET_AFTER },
  { name: 'kept-alive connection closed', codes: [0], lasts: 'throughout', step: (target) => resetIfReused(target) },
  { name: 'stall before', codes: [0, 8, 9, 11], rule: { kind: 'stall' } },
  { name: 'cut in the body', codes: [0, 9], rule: { kind: 'cut' } },
  { name: 'another shape', codes: [0, 8, 9], step: changed(() => '{"status":"ok"}') },
  {
    name: 'links elsewhere',
    codes: [0],
    only: 'GET',
    step: changed((text, elsewhere) => text.replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, elsewhere)),
  },
  { name: 'old lists', codes: [0], lasts: 'throughout', isStale: true },
  { name: 'reset after, and old lists', codes: [0, 9], only: 'POST', isStale: true, rule: RESET_AFTER },
  { name: '504 before it is carried out', codes: [0, 9], only: 'POST', rule: { kind: 'late', ms: 1 } },
  {
    name: '502 page',
    codes: [0, 9],
    step: () => (_, response) => response.writeHead(502, { 'content-type': 'text/html' }).end('<html></html>'),
  },
  {
    name: '307 elsewhere',
    codes: [0, 8, 9],
    step: (_, elsewhere) => (request, response) =>
      response.writeHead(307, { location: `${elsewhere}${request.path}` }).end(),
  },
  { name: '401', codes: [0, 3], step: problem(401, 'invalid_token') },
  { name: '402', codes: [0, 6], step: problem(402, 'organization_balance_too_low') },
  { name: '403', codes: [0, 3, 8], step: problem(403, 'missing_scope') },
  { name: '404', codes: [0, 4, 8], step: problem(404, 'not_found') },
  { name: '429', codes: [0, 7], step: problem(429, 'rate_limited') },
];

const canHave = ({ only }: Fault, { method }: Pick<FakeRequest, 'method'>) => only === undefined || only === method;

/** A command, the service, and the connection between them. */
async function startStage(command: Command) {
  const scene = await startScene();
  await scene.admin('POST', '/spaces', { count: 4, prefix: 'other' });
  // Five spaces are on three pages.
  await scene.set({ agents_on_repeat: 'install', page_size: 2 });
  await scene.admin('PATCH', '/clock', { advance: '1h' });
  const { origin } = new URL(scene.sandbox.baseUrl);
  const between = await startFakeService(forwardTo(origin));
  const env = { ...scene.env, PARTNER_BASE_URL: between.baseUrl };
  const args = [...argumentsOf(command.words, scene.things), ...(command.flags?.split(' ') ?? [])];
  const act = (words: readonly string[], clock?: ReturnType<typeof fasterClock>) =>
    run(words, { env, ...(clock && { clock }) });
  return { ...scene, between, origin, args, act, faster: () => fasterClock(CLOCK_SPEED) };
}

type Stage = Awaited<ReturnType<typeof startStage>>;

/** Makes the fault happen at the request with this number, from 1, among those that can have it. */
async function arm({ faults, between, origin }: Stage, fault: Fault, at: number, elsewhere: string): Promise<void> {
  const { rule, step, only, isStale } = fault;
  if (fault.refuses) return await between.stop();
  const limits = { skip: at - 1, ...(only && { on: only }), ...(!fault.lasts && { times: 1 }) };
  await faults(
    ...(rule ? [{ ...rule, ...limits }] : []),
    ...(isStale ? [{ kind: 'stale', ms: STALE_MS, on: 'GET' }] : []),
  );
  if (!step) return;
  const forward = forwardTo(origin);
  const steps = [...Array.from({ length: at - 1 }, () => forward), step(origin, elsewhere)];
  between.respond({ [`${only ?? '*'} *`]: fault.lasts ? steps : [...steps, forward], ...(only && { '* *': forward }) });
}

/** Ends the fault, and waits until nothing more can reach the service. */
async function heal({ faults, between, origin }: Stage, { refuses }: Fault): Promise<void> {
  if (refuses) await between.restart();
  between.respond(forwardTo(origin));
  await faults();
}

/** Everything at the service, one text per thing, such as `job acme Support daily`. */
async function thingsAt({ partner, admin, spaces, agents, things: { source } }: Stage): Promise<string[]> {
  const found: string[] = [];
  const names = new Map<string, string>();
  for (const { space_id, external_space_id } of await spaces()) {
    found.push(`space ${external_space_id}`);
    for (const { agent_id, name } of await agents(space_id)) {
      names.set(agent_id, `${external_space_id} ${name}`);
      found.push(`agent ${external_space_id} ${name}`);
    }
  }
  for (const { agent_id, name } of (await admin('GET', '/cron-jobs')).json.cron_jobs)
    found.push(`job ${names.get(agent_id)} ${name}`);
  for (const { name, filename } of (await admin('GET', '/uploads')).json.uploads)
    found.push(`file ${name ?? filename}`);
  const query = new URLSearchParams({ source_id: source, session_id: 'anna', page_size: '1000' });
  for (const { role, text } of (await partner('GET', `${HISTORY}?${query}`)).json.results)
    if (role === 'user') found.push(`message ${text}`);
  return found;
}

/** A failure is explained by exactly one block, a success by none; neither is a bug or shows a stack. */
function findErrorBlockProblems({ code, stderr }: Ran): string[] {
  const lines = stderr.split('\n');
  const blocks = lines.filter((line) => line.startsWith('error:') || line.startsWith('{"error":')).length;
  const isBug = stderr.includes('This is a bug') || lines.some((line) => /^\s+at .*:\d+:\d+\)?$/.test(line));
  return [...(blocks === (code === 0 ? 0 : 1) ? [] : [`${blocks} error blocks`]), ...(isBug ? ['a bug'] : [])];
}

/** What an exit code claims that is not so, one text per claim. */
function findLies(command: Command, fault: Fault, ran: Ran, things: readonly string[]): string[] {
  const { adds = [], shows = [], hasItems } = command;
  // An agent whose response was lost while the list is late is installed again: the plan shows it as unmanaged.
  const isExcused = (thing: string) => fault.isStale && thing.startsWith('agent ');
  const twice = things.filter((thing, index) => things.indexOf(thing) !== index && !isExcused(thing));
  const isCertain = !hasItems && [2, 3, 4, 6, 7, 8].includes(ran.code);
  const created = adds.filter((thing) => isCertain && /^(job|file) /.test(thing) && things.includes(thing));
  const missing = adds.filter((thing) => ran.code === 0 && !things.includes(thing));
  const hidden = shows.filter((text) => ran.code === 0 && ran.stdout.split(text).length !== 2);
  return [
    ...twice.map((thing) => `twice: ${thing}`),
    ...created.map((thing) => `created, although the command failed: ${thing}`),
    ...missing.map((thing) => `missing: ${thing}`),
    ...hidden.map((text) => `not once on stdout: ${text}`),
    ...findErrorBlockProblems(ran),
  ];
}

/** Runs a command with a fault at one request, again without it, and settles what is still unknown. @returns what is wrong */
async function runCell(command: Command, fault: Fault, at: number, elsewhere: string): Promise<readonly string[]> {
  const stage = await startStage(command);
  const { args, act, faster } = stage;
  const problems: string[] = [];
  const check = async (label: string, ran: Ran, codes: readonly number[]): Promise<void> => {
    const found = findLies(command, fault, ran, await thingsAt(stage));
    if (!codes.includes(ran.code)) found.push(`exit code ${ran.code} instead of ${codes.join(' or ')}`);
    if (found.length > 0) problems.push(`${label}: ${found.join('; ')}\nstdout: ${ran.stdout}\nstderr: ${ran.stderr}`);
  };
  await arm(stage, fault, at, elsewhere);
  // Only its limit ends a command at a service that is silent: timers follow the machine's clock.
  const isSilent = fault.rule?.kind === 'stall';
  const first = isSilent ? await act([...args, '--timeout', '6s']) : await act(args, faster());
  await heal(stage, fault);
  await check('with the fault', first, [
    ...fault.codes,
    ...(command.hasItems && !fault.codes.every((code) => code === 0) ? [10] : []),
  ]);
  const isUnknown = first.code === 9 || first.code === 10;
  const second = await act(args, faster());
  await check('repeated', second, isUnknown ? [0, 9, 10] : [0]);
  // No list shows whether a file arrived.
  if (second.code === 0 || command.words.startsWith('upload')) return problems;
  const settled = await act(['cron', 'reconcile', '--assume-not-created'], faster());
  if (settled.code !== 0) problems.push(`settled: ${settled.stderr}`);
  await check('repeated after that', await act(args, faster()), [0]);
  return problems;
}

const WRITES = new Set(COMMAND_LINES.flatMap(({ words, sends }) => (sends === 'writes' ? [words] : [])));

const CELLS = COMMANDS.flatMap((command, row) =>
  FAULTS.flatMap((fault, column) => {
    const isPossible = fault.only !== 'POST' || WRITES.has(command.words);
    return isPossible && (row + column) % EVERY === 0 ? [[command.name, fault.name, command, fault] as const] : [];
  }),
);

const counts = new Map<Command, readonly Pick<FakeRequest, 'method' | 'path'>[]>();

/** The requests of a command without faults, on the machine's clock: no list gets so old that it is read again. */
async function requestsOf(command: Command) {
  const known = counts.get(command);
  if (known) return known;
  const stage = await startStage(command);
  const ran = await stage.act(stage.args);
  const [fault] = FAULTS;
  if (fault) expect(findLies(command, fault, ran, await thingsAt(stage))).toEqual([]);
  const requests = stage.between.requests.map(({ method, path }) => ({ method, path }));
  counts.set(command, requests);
  return requests;
}

it.each(CELLS)('%s / %s', async (_, __, command, fault) => {
  const elsewhere = await startFakeService(() => undefined);
  const possible = (await requestsOf(command)).filter((request) => canHave(fault, request));
  const count = possible.length;
  const numbers = fault.lasts === 'throughout' ? [1] : [1, Math.ceil((count + 1) / 2), count];
  for (const at of new Set(numbers.filter((number) => number >= 1 && number <= count))) {
    const found = await runCell(command, fault, at, new URL(elsewhere.baseUrl).origin);
    const { method = '', path = '' } = possible[at - 1] ?? {};
    expect(found, `request ${at} of ${count} (${method} ${path})`).toEqual([]);
  }
  expect(elsewhere.requests).toEqual([]);
});
