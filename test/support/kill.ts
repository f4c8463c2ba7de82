import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { passOn, startFakeService } from './fake-service.ts';
import { PROGRAM, type Running, start, startFile } from './program.ts';
import { tempDirectory } from './run.ts';
import { type Service, service } from './service.ts';

/*
 * Kills a command with SIGKILL at one point after another, in one run per point, and then finishes every run as a person
 * would. The points are system calls, which strace counts, or requests on the wire.
 *
 * strace counts the calls of each thread separately, and the first thread that reaches its N-th one ends the process. So
 * there are three ways through a command: all threads; only the main one, which does the network; and, by their path, the
 * calls on one file, which another thread makes.
 */

export interface CallWay {
  /** One call, or several, each of which is counted separately. */
  readonly call: string;
  /** Which of them: `file` for those on the run's file, `main` for those of the main thread. */
  readonly of: 'any' | 'file' | 'main';
}

/** `arrived`: the request was read, and is not forwarded. `processed`: the response is not sent. `answered`: it is. */
interface WireWay {
  readonly wire: 'arrived' | 'processed' | 'answered';
}

export type Way = CallWay | WireWay;

/** KILL_EVERY=4 takes one in four points. */
const EVERY = Number(process.env.KILL_EVERY ?? 1);

/** Whether so few points are taken that not every stage can be expected, and that none may take a minute. */
export const IS_SAMPLE = EVERY > 4;

/** Calls that Node does not use so far. */
const UNUSED = ['pwrite64', 'sendmsg', 'sendto', 'fdatasync', 'readv', 'recvfrom', 'recvmsg'];

/** Every system call that reads, writes, syncs, opens, or connects. */
export const CALL_WAYS: readonly CallWay[] = [
  ...['openat', 'read', 'write', 'fsync'].map((call) => ({ call, of: 'file' }) as const),
  ...['openat', 'write', 'writev', 'connect'].map((call) => ({ call, of: 'main' }) as const),
  ...['write', 'writev', 'fsync', 'openat', 'connect', 'read', 'pread64'].map((call) => ({ call, of: 'any' }) as const),
  { call: UNUSED.join(), of: 'any' },
];

/** Every request, before and after it has its effect. */
const WIRE_WAYS: readonly WireWay[] = [{ wire: 'arrived' }, { wire: 'processed' }, { wire: 'answered' }];

/** Whether strace is installed and may trace: without it, the calls cannot be counted. */
export function canTrace(): boolean {
  const { signal } = spawnSync('strace', ['-o', '/dev/null', '-e', 'inject=openat:signal=KILL:when=1', 'true']);
  return signal === 'SIGKILL';
}

export interface KilledRun {
  /** False for a run that ended before the point. */
  readonly isKilled: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

type Env = Record<string, string>;

/** One run of the command, with its own objects and files. */
interface KillRun<Stage extends string> {
  readonly args: readonly string[];
  /** Its `PARTNER_STATE` is the file of `of: 'file'`. */
  readonly env: Env;
  /** Checks what the run reported, and returns how far it had come. */
  readonly stageOf: (killed: KilledRun) => Promise<Stage>;
  /** Continues as a person would, checks the end, and removes what the run created. @returns the duplicates at the service */
  readonly finish: (stage: Stage) => Promise<number>;
}

/**
 * Prepares the run that is killed at one point.
 * @param label unique among the runs of a way, and valid in file names
 * @param env reaches the service for this run and for those that finish it, with a state file of its own
 */
export type PrepareRun<Stage extends string> = (label: string, env: Env) => Promise<KillRun<Stage>>;

/** Runs a command, and kills it at its N-th call or request. */
type RunAt = (command: Pick<KillRun<string>, 'args' | 'env'>, nth: number) => Running;

function killerAtCalls({ call, of }: CallWay): RunAt {
  return ({ args, env }, nth) => {
    const threads = { any: ['-f'], file: ['-f', '-P', env.PARTNER_STATE ?? ''], main: [] }[of];
    const inject = ['-qq', '-o', '/dev/null', '-e', `trace=${call}`, '-e', `inject=${call}:signal=KILL:when=${nth}`];
    const traced = [...threads, ...inject, process.execPath, PROGRAM, ...args];
    return startFile('strace', traced, { env: { ...env, UV_THREADPOOL_SIZE: '1' } });
  };
}

/** Starts the service behind a URL that kills the process which sends the request with a given number. */
async function startKillProxy(serviceUrl: string, wire: WireWay['wire']): Promise<{ baseUrl: string; runAt: RunAt }> {
  let [child, count, nth]: [Running | undefined, number, number] = [undefined, 0, 0];
  const kill = async (): Promise<void> => {
    child?.kill('SIGKILL');
    await child;
  };
  const { baseUrl } = await startFakeService(async (request, response) => {
    count += 1;
    const isPoint = count === nth;
    if (isPoint && wire === 'arrived') return await kill();
    const passed = await passOn(request, serviceUrl).catch(() => undefined);
    if (!passed) return void response.destroy();
    if (isPoint && wire === 'processed') return await kill();
    response.writeHead(passed.status, { 'content-type': 'application/json' }).end(passed.text);
    if (isPoint) response.once('finish', () => void kill());
  });
  const runAt: RunAt = ({ args, env }, at) => {
    [count, nth] = [0, at];
    child = start(args, { env });
    // The requests of those that finish the run are no points.
    void child.then(() => {
      nth = 0;
    });
    return child;
  };
  return { baseUrl, runAt };
}

/** Whether nearly all calls of a way load modules, so that a sample would show nothing else. */
function isLoading({ call, of }: CallWay): boolean {
  return of === 'any' || (of === 'main' && call === 'openat');
}

/** All ways to kill a command, with their names. Without strace, only those at requests. */
export function killWays(calls = CALL_WAYS): (readonly [string, Way])[] {
  const taken = canTrace() ? calls.filter((way) => !IS_SAMPLE || !isLoading(way)) : [];
  return [...WIRE_WAYS, ...taken].map((way) => [describeWay(way), way]);
}

/** What a way counts: `request processed`, `fsync (file)`. */
function describeWay(way: Way): string {
  return 'wire' in way ? `request ${way.wire}` : `${way.call} (${way.of})`;
}

function labelOf(way: Way, nth: number): string {
  return 'wire' in way ? `${way.wire}-${nth}` : `${way.call.split(',')[0]}-${way.of}-${nth}`;
}

/** A command that is killed, and what must be true of every run. */
interface KillTests<Stage extends string> {
  readonly name: string;
  /** What a killed run leaves. */
  readonly title: string;
  /** Every stage at which some run must be killed. */
  readonly stages: readonly Stage[];
  readonly ways?: readonly (readonly [string, Way])[];
  readonly prepareOn: (sandbox: Service) => Promise<PrepareRun<Stage>>;
}

/** Declares a test for each way to kill a command, each with a service of its own, and one that no stage was missed. */
export function testKills<Stage extends string>(tests: KillTests<Stage>): void {
  const { name, title, stages, ways = killWays(), prepareOn } = tests;
  const reached = new Set<Stage>();
  test.each(ways)(`${name} ${title}: at each %s`, async (_, way) => {
    const sandbox = await service();
    await killEverywhere(name, sandbox, await prepareOn(sandbox), way, reached);
  });
  test.skipIf(IS_SAMPLE)(`${name} is killed at every stage`, () => {
    expect(stages.filter((stage) => !reached.has(stage))).toEqual([]);
  });
}

/**
 * Kills a command at the first point of a way, the second, and so on, until it survives. Prints the points and duplicates.
 * Two runs are killed at a time at calls, one at requests. Adds the stages at which runs were killed to `reached`.
 */
async function killEverywhere<Stage extends string>(
  name: string,
  { env, sandbox }: Service,
  prepare: PrepareRun<Stage>,
  way: Way,
  reached: Set<Stage>,
): Promise<void> {
  const { baseUrl, runAt } =
    'wire' in way
      ? await startKillProxy(sandbox.baseUrl, way.wire)
      : { baseUrl: sandbox.baseUrl, runAt: killerAtCalls(way) };
  const directory = tempDirectory();
  const stages = new Map<Stage, number>();
  // Calls on the state file and requests are few, and each of them is a point, whatever KILL_EVERY says.
  const step = 'call' in way && way.of !== 'file' ? EVERY : 1;
  // How often a thread wakes another differs between runs.
  const isUneven = 'call' in way && way.of === 'any' && (way.call === 'read' || way.call === 'write');
  const enough = isUneven ? 4 : 1;
  let [nth, survivors, points, duplicates] = [1 - step, 0, 0, 0];
  const lane = async (): Promise<void> => {
    while (survivors < enough) {
      nth += step;
      const mine = nth;
      const label = labelOf(way, mine);
      const PARTNER_STATE = join(directory, `${label}.jsonl`);
      const run = await prepare(label, { ...env, PARTNER_BASE_URL: baseUrl, PARTNER_STATE });
      const { exitCode, signal, stdout, stderr } = await runAt(run, mine);
      const isKilled = signal === 'SIGKILL';
      expect({ exitCode, signal, stderr }).toMatchObject(isKilled ? {} : { exitCode: 0, signal: undefined });
      const stage = await run.stageOf({ isKilled, stdout: String(stdout), stderr: String(stderr) });
      duplicates += await run.finish(stage);
      if (isKilled) {
        points += 1;
        reached.add(stage);
        stages.set(stage, (stages.get(stage) ?? 0) + 1);
      } else survivors += 1;
    }
  };
  await Promise.all(Array.from({ length: 'wire' in way ? 1 : 2 }, lane));
  const counted = JSON.stringify(Object.fromEntries(stages));
  process.stdout.write(
    `${name}: killed ${points} times at ${describeWay(way)}, ${duplicates} duplicates: ${counted}\n`,
  );
  expect(duplicates).toBe(0);
}

/** The command lines of the processes that use a directory. */
export function processesUsing(directory: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')];
      } catch {
        return [];
      }
    })
    .filter((line) => line.includes(directory));
}
