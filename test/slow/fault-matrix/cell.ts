import { HISTORY } from '../../support/chat.ts';
import { argumentsOf, type Scene, startScene } from '../../support/command-lines.ts';
import { type FakeService, forwardTo, startFakeService } from '../../support/fake-service.ts';
import { fasterClock, type Ran, run } from '../../support/run.ts';
import { argumentsFor, type MatrixCommand } from './commands.ts';
import { type RequestLine, type Role, rightCodes } from './exit-codes.ts';
import type { Fault } from './faults.ts';

/** How much faster the clock of the commands is, so that pauses between attempts do not matter. */
const CLOCK_SPEED = 20;
/** The limit of a command that only its limit ends: its timers follow the machine's clock. */
const SHORT_TIMEOUT = '6s';
/** How long lists are old, on the machine's clock: five seconds on that of the commands. */
const STALE_MS = 250;
/** Five spaces are on three pages. */
const SETTINGS = { agents_on_repeat: 'install', page_size: 2 };

/** A command, the service, and the connection between them. */
interface Stage extends Scene {
  readonly between: FakeService;
  readonly origin: string;
  run(args: readonly string[], clock?: 'faster' | 'system'): Promise<Ran>;
}

async function startStage(command: MatrixCommand): Promise<Stage> {
  const scene = await startScene();
  await scene.admin('POST', '/spaces', { count: 4, prefix: 'other' });
  await scene.set(SETTINGS);
  const { origin } = new URL(scene.sandbox.baseUrl);
  const between = await startFakeService(forwardTo(origin));
  const env = { ...scene.env, PARTNER_BASE_URL: between.baseUrl };
  const stage: Stage = {
    ...scene,
    between,
    origin,
    run: (args, clock = 'faster') => run(args, { env, ...(clock === 'faster' && { clock: fasterClock(CLOCK_SPEED) }) }),
  };
  if (command.afterLost !== undefined) {
    // The list is late, too: otherwise, the job would be adopted at once.
    await stage.faults({ kind: 'reset', stage: 'after', on: 'POST' }, { kind: 'stale', ms: STALE_MS, on: 'GET' });
    const { code, stderr } = await stage.run(argumentsOf(command.afterLost, stage.things));
    if (code !== 9) throw new Error(`The command before ended with ${code}: ${stderr}`);
    await stage.faults();
  }
  // What exists by now is in every list.
  await stage.admin('PATCH', '/clock', { advance: '1h' });
  return stage;
}

/** Runs a command without faults, on the machine's clock: no list gets so old that it is read again. @returns its requests */
export async function recordRequests(command: MatrixCommand): Promise<readonly RequestLine[]> {
  const stage = await startStage(command);
  stage.between.requests.length = 0;
  const { code, stdout, stderr } = await stage.run(argumentsFor(command, stage), 'system');
  const problems = [...(code === 0 ? [] : [`exit code ${code}`]), ...findShownWrongly(stdout, command.shows ?? [])];
  if (problems.length > 0) throw new Error(`${command.name} without faults: ${problems}\n${stdout}\n${stderr}`);
  return stage.between.requests.map(({ method, path }) => ({ method, path }));
}

const METHODS = { reads: 'GET', writes: 'POST' };

/** Whether a request can have the fault. */
export function canHave({ only }: Fault, { method }: RequestLine): boolean {
  return only === undefined || METHODS[only] === method;
}

/**
 * Makes the fault happen.
 * @param at the number of the faulty request among those that can have it, from 1
 * @returns whether it has happened
 */
async function arm(
  { faults, between, origin, received }: Stage,
  fault: Fault,
  at: number,
  elsewhere: string,
): Promise<() => Promise<boolean>> {
  const { rule, step, only, isStale, refuses } = fault;
  const lasts = fault.lasting || fault.isThroughout;
  if (refuses) {
    await between.stop();
    return async () => true;
  }
  const method = only === undefined ? '*' : METHODS[only];
  const position = { skip: at - 1, ...(method !== '*' && { on: method }), ...(!lasts && { times: 1 }) };
  await faults(
    ...(rule ? [{ ...rule, ...position }] : []),
    ...(isStale ? [{ kind: 'stale', ms: STALE_MS, on: 'GET' }] : []),
  );
  if (!step) return async () => !rule || (await received()).some((request) => request.fault !== null);
  const forward = forwardTo(origin);
  const spoilt = step({ target: origin, elsewhere });
  const steps = [...Array.from({ length: at - 1 }, () => forward), spoilt, ...(lasts ? [] : [forward])];
  const earlier = between.requests.length;
  between.respond({ [`${method} *`]: steps, ...(method !== '*' && { '* *': forward }) });
  return async () => between.requests.slice(earlier).filter((request) => canHave(fault, request)).length >= at;
}

/** Ends the fault, and waits until nothing more can reach the service. */
async function heal({ faults, between, origin }: Stage, fault: Fault): Promise<void> {
  if (fault.refuses) await between.restart();
  between.respond(forwardTo(origin));
  if (fault.rule?.kind === 'late') await new Promise((resolve) => setTimeout(resolve, Number(fault.rule?.ms)));
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
  const { json: cron } = await admin('GET', '/cron-jobs');
  for (const { agent_id, name } of cron.cron_jobs) found.push(`job ${names.get(agent_id)} ${name}`);
  const { json: uploads } = await admin('GET', '/uploads');
  for (const { name, filename } of uploads.uploads) found.push(`file ${name ?? filename}`);
  const query = new URLSearchParams({ source_id: source, session_id: 'anna', page_size: '1000' });
  const { json: history } = await partner('GET', `${HISTORY}?${query}`);
  for (const { role, text } of history.results) if (role === 'user') found.push(`message ${text}`);
  return found;
}

/* What no fault may lead to. Each check returns one text per problem. */

function findDuplicates(things: readonly string[]): string[] {
  const repeated = things.filter((thing, index) => things.indexOf(thing) !== index);
  return [...new Set(repeated)].map((thing) => `twice: ${thing}`);
}

function findMissing(things: readonly string[], wanted: readonly string[]): string[] {
  return wanted.filter((thing) => !things.includes(thing)).map((thing) => `missing: ${thing}`);
}

/** Finds the jobs and files among what a command adds, which a command that failed for certain must not have created. */
function findCreated(things: readonly string[], adds: readonly string[]): string[] {
  const created = adds.filter((thing) => /^(job|file) /.test(thing) && things.includes(thing));
  return created.map((thing) => `created, although the command failed: ${thing}`);
}

/** Finds texts that do not occur exactly once. */
function findShownWrongly(stdout: string, shows: readonly string[]): string[] {
  return shows.flatMap((text) => {
    const count = stdout.split(text).length - 1;
    return count === 1 ? [] : [`${count} times on stdout: ${text}`];
  });
}

/** A failure is explained by exactly one block, a success by none; neither is a bug or shows a stack. */
function findErrorBlockProblems({ code, stderr }: Ran): string[] {
  const lines = stderr.split('\n');
  const blocks = lines.filter((line) => line.startsWith('error:') || line.startsWith('{"error":')).length;
  const problems = blocks === (code === 0 ? 0 : 1) ? [] : [`${blocks} error blocks on stderr`];
  if (stderr.includes('This is a bug')) problems.push('a bug is reported');
  if (lines.some((line) => /^\s+at .*:\d+:\d+\)?$/.test(line))) problems.push('a stack is shown');
  return problems;
}

/** Whether a run that ends with this code has done everything. */
function isDone({ repeatExits }: MatrixCommand, code: number): boolean {
  return code === 0 || code === repeatExits;
}

/** The exit codes of a repeat: an unknown outcome stays unknown, or turns out to be done. */
function codesOfRepeat(command: MatrixCommand, code: number): readonly number[] {
  const repeatExits = command.repeatExits ?? 0;
  if (code === 0) return [repeatExits];
  return code === 9 || code === 10 ? [9, 10, repeatExits, 0] : [0, repeatExits];
}

export interface Cell {
  readonly command: MatrixCommand;
  readonly fault: Fault;
  /** The number of the faulty request among those that can have the fault, from 1. */
  readonly at: number;
  /** That request, as it is without faults. */
  readonly request: RequestLine;
  readonly role: Role;
  /** An origin to which nothing may be sent. */
  readonly elsewhere: string;
}

/**
 * Runs a command with a fault, again without it, and settles what is still unknown.
 * @returns what is wrong, one text per problem
 */
export async function runCell({ command, fault, at, request, role, elsewhere }: Cell): Promise<readonly string[]> {
  const stage = await startStage(command);
  const { adds = [], shows = [], settle } = command;
  const args = argumentsFor(command, stage);
  const problems: string[] = [];
  const check = async (
    label: string,
    ran: Ran,
    codes: readonly number[],
    more: readonly string[] = [],
  ): Promise<void> => {
    const things = await thingsAt(stage);
    const found = [
      ...(codes.includes(ran.code) ? [] : [`exit code ${ran.code} instead of ${codes.join(' or ')}`]),
      ...findErrorBlockProblems(ran),
      ...(command.repeatsAgents && fault.meaning === 'stale' ? [] : findDuplicates(things)),
      ...(isDone(command, ran.code) && label !== 'settled' ? findMissing(things, adds) : []),
      ...more,
    ];
    if (found.length > 0) found.push(`stdout: ${ran.stdout}\nstderr: ${ran.stderr}`);
    problems.push(...found.map((problem) => `${label}: ${problem}`));
  };

  const hasHappened = await arm(stage, fault, at, elsewhere);
  const isLate = fault.meaning === 'late';
  const first = await (isLate ? stage.run([...args, '--timeout', SHORT_TIMEOUT], 'system') : stage.run(args));
  const isCertain = !command.hasItems && command.afterLost === undefined && [2, 3, 4, 6, 7, 8].includes(first.code);
  if (!(await hasHappened())) problems.push('the fault did not happen');
  await heal(stage, fault);
  await check('with the fault', first, rightCodes(command, fault.meaning, request, role), [
    ...(isCertain ? findCreated(await thingsAt(stage), adds) : []),
    ...(first.code === 0 ? findShownWrongly(first.stdout, shows) : []),
  ]);
  if (!command.repeatsMessages) {
    const second = await stage.run(args);
    await check('repeated', second, codesOfRepeat(command, first.code));
    if (settle !== undefined && (second.code === 9 || second.code === 10)) {
      await check('settled', await stage.run(settle.split(' ')), [0]);
      await check('repeated after that', await stage.run(args), [command.repeatExits ?? 0, 0]);
    }
  }
  return problems;
}
