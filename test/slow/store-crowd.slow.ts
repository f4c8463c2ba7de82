import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { CRON_JOBS, type Cron, createCronAgent } from '../support/cron.ts';
import { startCuttingProxy } from '../support/postgres.ts';
import { start } from '../support/program.ts';
import { fasterClock, run, tempDirectory } from '../support/run.ts';
import { type Service, service, write } from '../support/service.ts';
import { readJobLog } from '../support/state-file.ts';
import { storeKinds } from '../support/stores.ts';

/*
 * Sixteen processes on four machines create the same jobs, half of them are killed, and responses of the service and of
 * the store are lost. In the end, each job must exist once, with its id in the store.
 *
 * In full, 200 jobs and the seeds 1 to 3, which takes half a minute to a minute for each seed and store. Variables:
 * - KILL_EVERY=4 takes a quarter of the jobs, and one seed: SEED, or 1.
 * One store alone, in full: npx vitest run --config test/slow/vitest.config.ts store-crowd -t 'state in git'
 */

const EVERY = Number(process.env.KILL_EVERY ?? 1);
const NAMES = Array.from({ length: Math.ceil(200 / EVERY) }, (_, index) => `job-${index}`);
const SEEDS = EVERY === 1 ? [1, 2, 3] : [Number(process.env.SEED ?? 1)];
const MACHINES = 4;
const PROCESSES_PER_MACHINE = 4;
/** The latest time at which processes are killed, in milliseconds. */
const LONGEST_LIFE_MS = 6000;

interface LossyStore {
  /** To use meanwhile. */
  readonly address: string;
  /** The number of lost responses. */
  lost(): number;
}

/** Returns numbers from 0 up to 1 from a seed, by the generator of Park and Miller. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

/** Loses responses of the store. */
async function loseAnswers(address: string, random: () => number): Promise<LossyStore> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol === 'postgres:') {
    // With fewer jobs, there are fewer messages.
    const { port, cuts } = await startCuttingProxy(Number(url.port), () => random() / Math.min(EVERY, 8));
    return { address: `postgres://ops@127.0.0.1:${port}${url.pathname}`, lost: cuts };
  }
  if (url?.protocol === 'git+file:') {
    // The push has succeeded, and the server dies before it says so: the first one, and then every fifth.
    const hook = join(url.pathname, 'hooks', 'reference-transaction');
    writeFileSync(
      hook,
      '#!/bin/sh\n[ "$1" = committed ] || exit 0\necho >> landed\n[ $(($(wc -l < landed) % 5)) = 1 ] && echo >> lost && kill -9 $PPID\nexit 0\n',
    );
    chmodSync(hook, 0o755);
    const lost = join(url.pathname, 'lost');
    return { address, lost: () => (existsSync(lost) ? readFileSync(lost).length : 0) };
  }
  return { address, lost: () => 0 };
}

interface Storm {
  readonly sandbox: Service;
  readonly cron: Cron;
  readonly file: string;
  readonly homes: readonly string[];
  readonly random: () => number;
}

async function prepare(seed: number): Promise<Storm> {
  const sandbox = await service();
  const cron = await createCronAgent(sandbox);
  const jobs = NAMES.map((name) => `  - { name: ${name}, instructions: Look., schedule: '0 9 * * *' }`);
  const file = write('jobs.yaml', `agent: ${cron.agent_id}\njobs:\n${jobs.join('\n')}\n`);
  const rules = [
    { kind: 'reset', stage: 'after', rate: 0.1, on: `POST ${CRON_JOBS}` },
    { kind: 'reset', rate: 0.05, on: `POST ${CRON_JOBS}` },
    { kind: 'cut', rate: 0.05, on: `POST ${CRON_JOBS}` },
  ];
  expect((await sandbox.admin('PUT', '/faults', { rules, seed })).status).toBe(200);
  const homes = Array.from({ length: MACHINES }, () => tempDirectory());
  return { sandbox, cron, file, homes, random: seededRandom(seed) };
}

/** Creates all jobs on a machine. */
function createOn({ sandbox, file }: Storm, home: string, address: string) {
  const args = ['cron', 'create', '-f', file, '--ensure', '--state', address, '-o', 'json'];
  return start(args, { env: { ...sandbox.env, HOME: home } });
}

/** Starts all processes concurrently, and kills every second one. @returns the number of killed ones */
async function rage(storm: Storm, address: string): Promise<number> {
  const running = storm.homes.flatMap((home) =>
    Array.from({ length: PROCESSES_PER_MACHINE }, async (_, number) => {
      const child = createOn(storm, home, address);
      const timer = number % 2 === 0 && setTimeout(() => child.kill('SIGKILL'), storm.random() * LONGEST_LIFE_MS);
      const { signal, exitCode, stderr } = await child;
      if (timer) clearTimeout(timer);
      // 8: the store or the service was unreachable; 9 and 10: the outcome of some jobs is unknown. With --ensure, none is blocked.
      if (signal !== 'SIGKILL') expect([0, 8, 9, 10], stderr).toContain(exitCode);
      return signal === 'SIGKILL';
    }),
  );
  return (await Promise.all(running)).filter((isKilled) => isKilled).length;
}

/** Continues as people would on each machine. */
async function settle(storm: Storm, address: string): Promise<void> {
  await storm.sandbox.faults();
  for (const home of storm.homes) {
    const reconcile = ['cron', 'reconcile', '--assume-not-created', '--state', address];
    const env = { ...storm.sandbox.env, HOME: home, PATH: process.env.PATH };
    // A lease takes three seconds.
    const reconciled = await run(reconcile, { env, clock: fasterClock(20) });
    expect(reconciled.code, reconciled.stderr).toBe(0);
    const created = await createOn(storm, home, address);
    expect(created.exitCode, created.stderr).toBe(0);
  }
}

for (const kind of storeKinds()) {
  describe.skipIf(kind.missing)(`Sixteen processes on four machines, with the state in ${kind.name},`, () => {
    afterAll(() => kind.stop());

    test.each(SEEDS)(
      'create each job once, although half of them are killed and responses are lost: seed %i',
      async (seed) => {
        const storm = await prepare(seed);
        const address = await kind.fresh();
        const lossy = await loseAnswers(address, storm.random);
        const killed = await rage(storm, lossy.address);
        // The storm was one: jobs were reserved, and answers were lost. How many were made is left to chance: where one
        // process reserves all names at once and is killed before its first request, none is.
        const made = (await storm.cron.jobs()).length;
        expect((await readJobLog(address)).records.length).toBeGreaterThan(0);
        if (kind.name !== 'a file') expect(lossy.lost()).toBeGreaterThan(0);
        await settle(storm, address);
        const jobs = await storm.cron.jobs();
        expect(jobs.map(({ name }) => name).toSorted()).toEqual(NAMES.toSorted());
        const { ids, damage } = await readJobLog(address);
        expect(new Set(ids)).toEqual(new Set(jobs.map(({ cron_job_id }) => cron_job_id)));
        expect(damage).toEqual([]);
        process.stdout.write(
          `${kind.name}, seed ${seed}: ${NAMES.length} names, ${killed} of 16 processes killed, ${lossy.lost()} answers of the store lost, ${made} made meanwhile\n`,
        );
      },
    );
  });
}
