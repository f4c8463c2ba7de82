import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { expect } from 'vitest';
import { PROGRAM, type Running, start, startFile } from './program.ts';
import { listen } from './tcp-server.ts';

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

/** The command line of one run. */
interface KilledCommand {
  readonly args: readonly string[];
  readonly env: Record<string, string>;
  /** The file of `of: 'file'`: usually the state file. */
  readonly path: string;
  /** The complete standard input, if any. */
  readonly input?: string;
}

/** One run of the command, with its own objects and files. */
interface KillRun<Stage extends string> extends KilledCommand {
  /** Checks what the run reported, and returns how far it had come. */
  readonly stageOf: (killed: KilledRun) => Promise<Stage>;
  /** Continues as a person would, checks the end, and removes what the run created. @returns the duplicates at the service */
  readonly finish: (stage: Stage) => Promise<number>;
}

/**
 * Prepares the run that is killed at one point.
 * @param label unique among the runs of a way, and valid in file names
 * @param baseUrl the service's URL for this run and for those that finish it
 */
export type PrepareRun<Stage extends string> = (label: string, baseUrl: string) => Promise<KillRun<Stage>>;

interface KillCount<Stage extends string> {
  readonly points: number;
  readonly duplicates: number;
  readonly stages: ReadonlyMap<Stage, number>;
}

/**
 * Counts the stages at which the runs of several ways were killed, so that none of a command's stages is missing.
 * @param atLeast how many runs there must be at each stage, if every point was taken
 */
export function stageCounter<Stage extends string>(atLeast = 1) {
  const least = EVERY === 1 ? atLeast : 1;
  const all = new Map<Stage, number>();
  return {
    add(stages: ReadonlyMap<Stage, number>): void {
      for (const [stage, count] of stages) all.set(stage, (all.get(stage) ?? 0) + count);
    },
    expectEach(...stages: readonly Stage[]): void {
      for (const stage of stages) expect(all.get(stage), stage).toBeGreaterThanOrEqual(least);
    },
  };
}

/** Runs a command, and kills it at its N-th call or request. */
interface Killer {
  /** The service's URL for the runs. */
  readonly baseUrl: string;
  /** The maximum number of concurrent runs. */
  readonly lanes: number;
  readonly run: (run: KilledCommand, nth: number) => Running;
}

function createCallKiller(baseUrl: string, { call, of }: CallWay): Killer {
  return {
    baseUrl,
    lanes: 2,
    run({ args, env, path, input }, nth) {
      const threads = { any: ['-f'], file: ['-f', '-P', path], main: [] }[of];
      const inject = ['-qq', '-o', '/dev/null', '-e', `trace=${call}`, '-e', `inject=${call}:signal=KILL:when=${nth}`];
      return startFile('strace', [...threads, ...inject, process.execPath, PROGRAM, ...args], {
        env: { ...env, UV_THREADPOOL_SIZE: '1' },
        ...(input !== undefined && { input }),
      });
    },
  };
}

/** Forwards a request unchanged. @returns the complete response */
async function pass({ method, url, headers }: IncomingMessage, body: Buffer, origin: string) {
  const onward = request(new URL(url ?? '', origin), { method, headers: { ...headers, host: new URL(origin).host } });
  onward.end(body);
  const [response]: IncomingMessage[] = await once(onward, 'response');
  if (!response) throw new Error('no response');
  return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) };
}

/** The service behind a URL that kills the process which sends the request with a given number. */
async function startKillProxy(serviceUrl: string, { wire }: WireWay): Promise<Killer> {
  let [child, count, nth]: [Running | undefined, number, number] = [undefined, 0, 0];
  const kill = async (): Promise<void> => {
    child?.kill('SIGKILL');
    await child;
  };
  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    count += 1;
    const isPoint = count === nth;
    const body = await buffer(incoming);
    if (isPoint && wire === 'arrived') return await kill();
    const passed = await pass(incoming, body, new URL(serviceUrl).origin);
    if (isPoint && wire === 'processed') return await kill();
    response.writeHead(passed.status, passed.headers).end(passed.body);
    if (isPoint) response.once('finish', () => void kill());
  };
  // A request whose connection died with its process needs no response.
  const proxy = createServer((incoming, response) => void serve(incoming, response).catch(() => response.destroy()));
  const { baseUrl } = await listen(proxy);
  return {
    baseUrl,
    lanes: 1,
    run({ args, env, input }, at) {
      [count, nth] = [0, at];
      child = start(args, { env, ...(input !== undefined && { input }) });
      // The requests of those that finish the run are no points.
      void child.then(() => {
        nth = 0;
      });
      return child;
    },
  };
}

/** How many runs must survive before a way ends: how often a thread wakes another differs between runs. */
function survivorsOf(way: Way): number {
  return 'call' in way && way.of === 'any' && (way.call === 'read' || way.call === 'write') ? 4 : 1;
}

/** All ways to kill a command, with their names. Without strace, only those at requests. */
export function killWays(calls = CALL_WAYS): (readonly [string, Way])[] {
  return [...WIRE_WAYS, ...(canTrace() ? calls : [])].map((way) => [describeWay(way), way]);
}

/** What a way counts: `request processed`, `fsync (file)`. */
function describeWay(way: Way): string {
  return 'wire' in way ? `request ${way.wire}` : `${way.call} (${way.of})`;
}

function labelOf(way: Way, nth: number): string {
  return 'wire' in way ? `${way.wire}-${nth}` : `${way.call.split(',')[0]}-${way.of}-${nth}`;
}

/**
 * The distance between the points. Calls on the state file and requests are few, and each of them is a point, whatever
 * KILL_EVERY says.
 */
function stepOf(way: Way): number {
  return 'call' in way && way.of !== 'file' ? EVERY : 1;
}

/** The process to kill. */
interface KillTarget<Stage extends string> {
  /** Of the command. */
  readonly name: string;
  /** The service's URL. */
  readonly baseUrl: string;
  readonly prepare: PrepareRun<Stage>;
}

/**
 * Kills a command at the first point of a way, the second, and so on, until it survives. Prints the points and duplicates.
 * Two runs are killed at a time at calls, one at requests.
 */
export async function killEverywhere<Stage extends string>(
  { name, baseUrl, prepare }: KillTarget<Stage>,
  way: Way,
): Promise<KillCount<Stage>> {
  const killer = 'wire' in way ? await startKillProxy(baseUrl, way) : createCallKiller(baseUrl, way);
  const stages = new Map<Stage, number>();
  const step = stepOf(way);
  let [nth, survivors, points, duplicates] = [1 - step, 0, 0, 0];
  const lane = async (): Promise<void> => {
    while (survivors < survivorsOf(way)) {
      nth += step;
      const mine = nth;
      const run = await prepare(labelOf(way, mine), killer.baseUrl);
      const { exitCode, signal, stdout, stderr } = await killer.run(run, mine);
      const isKilled = signal === 'SIGKILL';
      expect({ exitCode, signal, stderr }).toMatchObject(isKilled ? {} : { exitCode: 0, signal: undefined });
      const stage = await run.stageOf({ isKilled, stdout: String(stdout), stderr: String(stderr) });
      duplicates += await run.finish(stage);
      if (isKilled) {
        points += 1;
        stages.set(stage, (stages.get(stage) ?? 0) + 1);
      } else survivors += 1;
    }
  };
  await Promise.all(Array.from({ length: killer.lanes }, lane));
  const counted = JSON.stringify(Object.fromEntries(stages));
  process.stdout.write(
    `${name}: killed ${points} times at ${describeWay(way)}, ${duplicates} duplicates: ${counted}\n`,
  );
  expect(duplicates).toBe(0);
  return { points, duplicates, stages };
}
