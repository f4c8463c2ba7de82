import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PROGRAM, start, startFile } from '../e2e/program.ts';
import { type CreatedJob, type Cron, createCronAgent, readJobLog } from '../helpers/cron.ts';
import { tempDirectory } from '../helpers/run.ts';
import { type Service, service } from '../helpers/service.ts';

/*
 * `cron create`, killed with SIGKILL at every system call that reads, writes, syncs, opens or connects, one run for each.
 * strace counts the calls of each thread for itself, and the first thread that comes to its N-th one ends the process. So
 * there are three ways through a command: all threads; the main one alone, which does the network; and, by their path, the
 * calls on the state file, which another thread does.
 */

const AT_ONCE = 2;

const UNUSED = ['pwrite64', 'sendmsg', 'sendto', 'fdatasync', 'readv', 'recvfrom', 'recvmsg'];

function mayInject(): boolean {
  const { signal } = spawnSync('strace', ['-o', '/dev/null', '-e', 'inject=openat:signal=KILL:when=1', 'true']);
  return signal === 'SIGKILL';
}

/** How far a killed command had come: what the state file says, and whether the service has the job. */
type Stage = 'nothing yet' | 'reserved' | 'reserved, and made' | 'made and recorded';

interface Way {
  /** One call, or several, each of which is counted for itself. */
  readonly call: string;
  /** Which of them: `file` those on the state file, `main` those of the main thread. */
  readonly of: 'any' | 'file' | 'main';
}

const WAYS: readonly Way[] = [
  ...['openat', 'read', 'write', 'fsync'].map((call) => ({ call, of: 'file' }) as const),
  ...['openat', 'write', 'writev', 'connect'].map((call) => ({ call, of: 'main' }) as const),
  ...['write', 'writev', 'fsync', 'openat', 'connect', 'read', 'pread64'].map((call) => ({ call, of: 'any' }) as const),
  // Node does without these so far.
  { call: UNUSED.join(), of: 'any' },
];

/**
 * The runs that have to survive before a way is at its end: how often a thread wakes another one is not the same in each
 * run, so there a single survivor may have been lucky.
 */
function survivorsOf({ call, of }: Way): number {
  return of === 'any' && (call === 'read' || call === 'write') ? 4 : 1;
}

function choiceOf({ of }: Way, path: string): readonly string[] {
  return { any: ['-f'], file: ['-f', '-P', path], main: [] }[of];
}

interface Place {
  readonly it: Service;
  readonly cron: Cron;
  readonly directory: string;
}

/** What a run said: the job on its stdout, or the key and id in its error. */
function saidBy(stdout: string): CreatedJob | undefined {
  return stdout.endsWith('}\n') ? JSON.parse(stdout) : undefined;
}

function expectTrue(said: CreatedJob | undefined, ids: readonly string[]): void {
  if (said && ['created', 'exists', 'adopted'].includes(said.status)) expect(ids).toEqual([said.cron_job_id]);
}

async function stageOf({ cron }: Place, name: string, path: string): Promise<Stage> {
  const { records, ids } = await readJobLog(path);
  if (ids.length > 0) return 'made and recorded';
  if (records.length === 0) return 'nothing yet';
  return (await cron.idsOf(name)).length === 0 ? 'reserved' : 'reserved, and made';
}

/** Goes on as a person would after the kill, until the job is there. */
async function recover({ it, cron }: Place, name: string, path: string): Promise<void> {
  const run = async (words: readonly string[], codes: readonly number[]): Promise<number> => {
    const ran = await start([...words, '--state', path], { env: it.env });
    expect(codes, ran.stderr).toContain(ran.exitCode);
    const there = await cron.idsOf(name);
    expect(there.length).toBeLessThanOrEqual(1);
    if (ran.stdout.startsWith('{')) expectTrue(saidBy(ran.stdout), there);
    return ran.exitCode ?? -1;
  };
  const code = await run(cron.create(name), [0, 5, 9]);
  if (code === 9) {
    await run(['cron', 'reconcile', '--assume-not-created', '--grace', '1ms'], [0]);
    await run(cron.create(name, '--ensure'), [0]);
  }
}

/** @returns how far the command had come when it was killed; undefined where it survived */
async function killAt(place: Place, way: Way, nth: number): Promise<Stage | undefined> {
  const { it, cron, directory } = place;
  const { call } = way;
  const name = `${call}-${nth}`;
  const path = join(directory, `${name}.jsonl`);
  const injected = ['-qq', '-o', '/dev/null', '-e', `trace=${call}`, '-e', `inject=${call}:signal=KILL:when=${nth}`];
  const words = [process.execPath, PROGRAM, ...cron.create(name), '--state', path];
  const killed = await startFile('strace', [...choiceOf(way, path), ...injected, ...words], {
    env: { ...it.env, UV_THREADPOOL_SIZE: '1' },
  });
  const survived = killed.exitCode === 0;
  expect({ survived, signal: killed.signal }).toEqual({ survived, signal: survived ? undefined : 'SIGKILL' });
  const stage = await stageOf(place, name, path);
  expectTrue(saidBy(killed.stdout), await cron.idsOf(name));
  if (killed.stdout !== '') expect(stage).toBe('made and recorded');
  await recover(place, name, path);
  const ids = await cron.idsOf(name);
  expect(ids).toHaveLength(1);
  const log = await readJobLog(path);
  expect(new Set(log.ids)).toEqual(new Set(ids));
  expect(log.damage.filter((why) => !why.startsWith('not a whole record'))).toEqual([]);
  expect(existsSync(path) && readFileSync(path).length).toBeGreaterThan(0);
  for (const id of ids) await cron.remove(id);
  return survived ? undefined : stage;
}

/** Kills it at the first call, the second, and so on, until it survives. @returns how often in which stage */
async function killEverywhere(place: Place, way: Way): Promise<Map<Stage, number>> {
  const stages = new Map<Stage, number>();
  let nth = 0;
  let survivors = 0;
  const lane = async (): Promise<void> => {
    while (survivors < survivorsOf(way)) {
      nth += 1;
      const stage = await killAt(place, way, nth);
      if (stage === undefined) survivors += 1;
      else stages.set(stage, (stages.get(stage) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return stages;
}

const all = new Map<Stage, number>();

describe.skipIf(!mayInject())('kill -9 at every system call of cron create (needs strace, and leave to trace)', () => {
  test.each(WAYS)(
    '$call, $of',
    async (way) => {
      const it = await service();
      const stages = await killEverywhere({ it, cron: await createCronAgent(it), directory: tempDirectory() }, way);
      const points = [...stages.values()].reduce((sum, count) => sum + count, 0);
      for (const [stage, count] of stages) all.set(stage, (all.get(stage) ?? 0) + count);
      process.stdout.write(
        `killed ${points} times at ${way.call} (${way.of}): ${JSON.stringify(Object.fromEntries(stages))}\n`,
      );
    },
    300_000,
  );

  test('in every stage that a creation has', () => {
    process.stdout.write(`killed in all: ${JSON.stringify(Object.fromEntries(all))}\n`);
    for (const stage of ['nothing yet', 'reserved', 'reserved, and made', 'made and recorded'] as const) {
      expect(all.get(stage), stage).toBeGreaterThan(1);
    }
  });
});
