import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../../../src/clock.ts';
import { fasterClock } from '../../support/run.ts';
import {
  findCanary,
  findDuplicates,
  findErrorBlockProblems,
  findMissing,
  findOnceOnly,
  findShownWrongly,
} from './checks.ts';
import type { MatrixCommand } from './command.ts';
import { allowedCodes, type RequestLine } from './exit-codes.ts';
import type { Fault } from './fault.ts';
import { type ArmedFault, FaultProxy } from './proxy.ts';
import { type CommandEnd, runCommand } from './run-command.ts';
import { startWorld, type World } from './world.ts';

/** How much faster the clock of the commands is. */
const CLOCK_SPEED = 20;
/** The limit of a command that only a time limit ends, and of the others. */
const SHORT_TIMEOUT_MS = 6_000;
const TIMEOUT_MS = 1_200_000;
/** The extra time that a command may take beyond its limit on a busy machine. */
const SLACK_MS = 20_000;

const STALE: Fault = { name: 'stale', meaning: 'stale', stale: true };
const LOST: Fault = { name: 'lost', meaning: 'lost', carriedOut: 'first', steps: () => [{ do: 'reset' }] };

export interface Cell {
  readonly command: MatrixCommand;
  readonly fault: Fault;
  /** The number of the faulty request among those that can have the fault, from 1. */
  readonly at: number;
  /** That request, as it is without faults. */
  readonly request: RequestLine;
}

function unexpected(path: string): never {
  throw new Error(`The old ${path} is not known.`);
}

/** A command, the service as it finds it, and the proxy between them. */
class Scene {
  readonly command: MatrixCommand;
  readonly world: World;
  readonly proxy: FaultProxy;

  private readonly stale: ArmedFault['stale'];
  /** Pauses between attempts and polls do not dominate. */
  private readonly clock = fasterClock(CLOCK_SPEED);

  private constructor(command: MatrixCommand, world: World, proxy: FaultProxy, stale: ArmedFault['stale']) {
    this.command = command;
    this.world = world;
    this.proxy = proxy;
    this.stale = stale;
  }

  static async open(command: MatrixCommand, elsewhere: string, needsOldReads = false): Promise<Scene> {
    const world = await startWorld();
    const proxy = new FaultProxy({ target: world.sandbox.baseUrl, elsewhere });
    await proxy.start();
    for (const [name, text] of Object.entries(command.files ?? {})) await writeFile(join(world.home, name), text);
    const scene = new Scene(command, world, proxy, needsOldReads ? await world.freeze() : unexpected);
    if (command.after) await scene.runBefore(command.after);
    return scene;
  }

  async close(): Promise<void> {
    await this.proxy.close();
    await this.world.close();
  }

  /** Runs a command line. @param time the clock; `short` is real time with a short limit */
  run(argv: readonly string[], time: 'fast' | 'real-time' | 'short' = 'fast'): Promise<CommandEnd> {
    const { command, world, proxy } = this;
    const timeout = time === 'short' ? SHORT_TIMEOUT_MS : (command.timeoutMs ?? TIMEOUT_MS);
    return runCommand({
      argv: [...argv, '--timeout', `${timeout}ms`],
      stdin: command.stdin,
      env: { PARTNER_BASE_URL: proxy.baseUrl, PARTNER_TOKEN: world.token },
      home: world.home,
      watch: this.watcher(),
      clock: time === 'fast' ? this.clock : systemClock,
    });
  }

  /** Arms the proxy with a fault for the request of this number. */
  arm(fault: Fault, at: number): void {
    this.proxy.arm({ fault, at, stale: this.stale });
  }

  private async runBefore({ argv, loses }: NonNullable<MatrixCommand['after']>): Promise<void> {
    if (loses) this.arm({ ...LOST, only: 'writes', lasting: true }, 1);
    const { code, stderr } = await this.run(argv(this.world));
    await this.proxy.heal();
    if (code !== (loses ? 9 : 0)) throw new Error(`The command before ended with ${code}: ${stderr}`);
  }

  /** Lets a message arrive in the session, and ends the command, as its output grows. */
  private watcher(): (stdout: string) => boolean {
    const { follows } = this.command;
    const { admin, source } = this.world;
    let hasArrived = false;
    return (stdout) => {
      if (!follows) return false;
      const lines = stdout.split('\n').length - 1;
      if (lines >= follows.arrival && !hasArrived) {
        hasArrived = true;
        void admin('POST', '/messages', { source_id: source, session_id: 'anna', role: 'assistant', text: 'Later.' });
      }
      return lines >= follows.interrupt;
    };
  }
}

/**
 * Runs a command without faults, in real time: no list gets old enough to be read again.
 * @returns its requests, in order
 */
export async function recordRequests(command: MatrixCommand): Promise<readonly RequestLine[]> {
  const scene = await Scene.open(command, '');
  try {
    scene.proxy.requests = [];
    const { code, stdout, stderr } = await scene.run(command.argv(scene.world), 'real-time');
    const problems = [...(code === 0 ? [] : [`exit code ${code}`]), ...findShownWrongly(stdout, command.shows)];
    if (problems.length > 0) throw new Error(`${command.name} without faults: ${problems}\n${stdout}\n${stderr}`);
    return [...scene.proxy.requests];
  } finally {
    await scene.close();
  }
}

/**
 * Runs one cell.
 * @param elsewhere the origin that responses lead to, to which nothing may be sent
 * @returns what is wrong with it, one text per problem; empty if nothing is
 */
export async function runCell(cell: Cell, elsewhere: string): Promise<readonly string[]> {
  const { command, fault, at, request } = cell;
  const scene = await Scene.open(command, elsewhere, fault.stale);
  const { world, proxy } = scene;
  try {
    const argv = command.argv(world);
    const ends: CommandEnd[] = [];
    const problems: string[] = [];
    const step = async (label: string, end: CommandEnd, codes: readonly number[]): Promise<CommandEnd> => {
      ends.push(end);
      const things = command.adds ? await world.things() : [];
      const found = [...checkEnd(end, codes), ...findDuplicates(things)];
      if (isDone(command, end.code) && label !== 'settled') found.push(...findMissing(things, command.adds ?? []));
      if (ends.length === 1 && provesNothingDone(command, end.code)) found.push(...findOnceOnly(things, command.adds));
      const mayMiss = command.showsLess?.includes(fault.meaning);
      if (end.code === 0 && ends.length === 1) found.push(...findShownWrongly(end.stdout, command.shows, mayMiss));
      if (found.length > 0) found.push(`stdout: ${end.stdout}\nstderr: ${end.stderr}`);
      problems.push(...found.map((problem) => `${label}: ${problem}`));
      return end;
    };

    scene.arm(fault, at);
    const first = await step(
      'with the fault',
      await scene.run(argv, fault.meaning === 'late' ? 'short' : 'fast'),
      codesOf(cell, proxy),
    );
    if (proxy.faulty.length === 0 && !fault.closesKeptAlive) problems.push('the fault did not happen');
    if (command.isGuardedByLists && fault.stale) proxy.keepStale(STALE);
    else await proxy.heal();
    const isAcknowledged = command.repeatsMessages && (first.code === 0 || request.method === 'GET');
    if (isAcknowledged) return [...problems, ...findLeaks(ends, await world.files(), world.token)];
    if (fault.stale) {
      if (!command.isGuardedByLists) scene.arm(STALE, 1);
      await step('repeated, with old lists', await scene.run(argv), [0, 5, 9, 10]);
      await proxy.heal();
    }
    const repeated = await step('repeated', await scene.run(argv), repeatCodes(command, first.code));
    if (command.settle && (repeated.code === 9 || repeated.code === 10)) {
      await step('settled', await scene.run(command.settle), [0]);
      await step('repeated after that', await scene.run(argv), [command.repeatExits ?? 0, 0]);
    }
    return [...problems, ...findLeaks(ends, await world.files(), world.token)];
  } finally {
    await scene.close();
  }
}

/**
 * The exit codes that the faulty request allows. It may differ from the one without faults: lists are read again when they are
 * old. If nothing of it was read, it may have been any of them.
 */
function codesOf({ command, fault, request }: Cell, { faulty, requests }: FaultProxy): readonly number[] {
  const known = faulty.find(({ method }) => method !== '');
  const others = command.hasItems ? requests.filter(({ method }) => method !== '') : [];
  const possible = known ? [known] : [request, ...others];
  const sent = known ? requests : [...requests, request];
  const isOptional = possible.some((each) => isListReadAgain(each, sent));
  return [...new Set([...possible.flatMap((each) => allowedCodes(command, fault, each)), ...(isOptional ? [0] : [])])];
}

const GUARDING_LIST = /\/(spaces|partner-cron-jobs)\/$/;
const pathnameOf = ({ path }: RequestLine): string => path.replace(/\?.*/, '');

/**
 * Whether a request is for a list that was read more than once. The command may not need the second reading: one of spaces
 * begins before the first is too old, and one of jobs after a creation can only warn about a second job.
 */
function isListReadAgain(request: RequestLine, requests: readonly RequestLine[]): boolean {
  const pathname = pathnameOf(request);
  if (request.method !== 'GET' || !GUARDING_LIST.test(pathname)) return false;
  const paths = requests.filter((other) => other.method === 'GET' && pathnameOf(other) === pathname);
  return paths.filter(({ path }) => path === paths[0]?.path).length > 1;
}

function findLeaks(ends: readonly CommandEnd[], files: string, token: string): string[] {
  return [
    ...findCanary('stdout', ends.map(({ stdout }) => stdout).join('\n'), token),
    ...findCanary('stderr', ends.map(({ stderr }) => stderr).join('\n'), token),
    ...findCanary('a file', files, token),
  ];
}

/** Whether a run that ends with this code has done everything. */
function isDone({ repeatExits }: MatrixCommand, code: number): boolean {
  return code === 0 || code === repeatExits;
}

/** Whether a run that ends with this code cannot have created what must not be created twice. */
function provesNothingDone({ hasItems, after }: MatrixCommand, code: number): boolean {
  return !hasItems && !after && [2, 3, 4, 6, 7, 8].includes(code);
}

/** The exit codes of a repeat: an unknown outcome stays unknown, or turns out to be done. */
function repeatCodes(command: MatrixCommand, code: number): readonly number[] {
  const repeatExits = command.repeatExits ?? 0;
  if (code === 0) return [repeatExits];
  return code === 9 || code === 10 ? [9, 10, repeatExits, 0] : [0, repeatExits];
}

function checkEnd(end: CommandEnd, codes: readonly number[]): string[] {
  const problems = findErrorBlockProblems(end);
  if (!codes.includes(end.code)) problems.push(`exit code ${end.code} instead of ${codes.join(' or ')}`);
  if (end.ms > SHORT_TIMEOUT_MS + SLACK_MS) problems.push(`it took ${Math.round(end.ms)} ms`);
  return problems;
}
