import { describe, expect, test } from 'vitest';
import { start } from '../support/program.ts';
import { fasterClock, run } from '../support/run.ts';
import { manifest, type Service, service, write } from '../support/service.ts';

/*
 * Provisioning many spaces on a service that fails in every way, and installs agents again on every POST.
 */

const AGENTS = ['Support', 'Sales'];

/** The documents `s1` to `s<count>`, each with two agents. */
function rolloutManifest(count: number): string {
  return Array.from({ length: count }, (_, index) => manifest(`s${index + 1}`, AGENTS)).join('---\n');
}

const JOBS = ['morning', 'evening', 'weekly'];

/** The documents of `rolloutManifest`, with chat and scheduled jobs for each agent. */
function scheduledManifest(count: number): string {
  const jobs = JOBS.map((name, hour) => `{ name: ${name}, instructions: Look., schedule: '0 ${hour} * * *' }`);
  const more = `, chat: { name: Desk }, cron: [${jobs.join(', ')}] }`;
  return rolloutManifest(count).replaceAll(/(- \{ template_id: .*) \}$/gm, `$1${more}`);
}

/** Failures before and after the request is processed, for about a fifth of all requests. */
function faultRules(seed: number): object {
  const rates = [
    { kind: 'status', status: 503, rate: 0.04 },
    { kind: 'status', status: 503, stage: 'after', rate: 0.04 },
    { kind: 'status', status: 429, retry_after: 0.05, rate: 0.03 },
    { kind: 'reset', rate: 0.04 },
    { kind: 'reset', stage: 'after', rate: 0.04 },
    { kind: 'cut', rate: 0.03 },
    { kind: 'html', stage: 'after', rate: 0.02 },
  ];
  return { rules: rates, seed };
}

/** Makes the service fail at random, and install agents again on every repeat. */
async function injectFaults(sandbox: Service, seed: number): Promise<void> {
  await sandbox.set({ agents_on_repeat: 'install' });
  const set = await sandbox.admin('PUT', '/faults', faultRules(seed));
  expect(set.status).toBe(200);
}

/** Expects each space once, with each agent once in it. */
async function expectEachSpaceOnce(sandbox: Service, count: number): Promise<void> {
  await sandbox.faults();
  const spaces = await sandbox.spaces();
  expect(spaces.map(({ external_space_id }) => external_space_id).toSorted()).toEqual(
    Array.from({ length: count }, (_, index) => `s${index + 1}`).toSorted(),
  );
  const installed = await Promise.all(
    spaces.map(async ({ external_space_id, space_id }) => ({
      space: external_space_id,
      agents: (await sandbox.agents(space_id)).map(({ name }) => name).toSorted(),
    })),
  );
  expect(installed).toEqual(
    spaces.map(({ external_space_id }) => ({ space: external_space_id, agents: AGENTS.toSorted() })),
  );
}

/** Expects each agent to have a source and each of its jobs once. */
async function expectEachJobOnce(sandbox: Service, count: number): Promise<void> {
  const spaces = await sandbox.spaces();
  const agents = (await Promise.all(spaces.map(({ space_id }) => sandbox.agents(space_id)))).flat();
  expect(agents).toHaveLength(count * AGENTS.length);
  for (const agent of agents) {
    expect(agent).toMatchObject({ integrations: { api_chat: { source_id: expect.any(String) } } });
  }
  // Faults do not affect the admin routes.
  const { json } = await sandbox.admin('GET', '/cron-jobs');
  const made: readonly { agent_id: string; name: string }[] = json.cron_jobs;
  expect(made.map(({ agent_id, name }) => `${agent_id} ${name}`).toSorted()).toEqual(
    agents.flatMap(({ agent_id }) => JOBS.map((name) => `${agent_id} ${name}`)).toSorted(),
  );
}

interface Ran {
  readonly exitCode: number | undefined;
  readonly summary: Record<string, number>;
  /** The errors of the results, to show why a run failed. */
  readonly failures: readonly object[];
  /** The ids of the jobs. */
  readonly jobs: readonly string[];
  /** The number of jobs that may or may not have been created. */
  readonly unknownJobs: number;
  readonly stderr: string;
}

interface Answer {
  readonly results: readonly {
    readonly error?: object;
    readonly cron: readonly { readonly status: string; readonly cron_job_id: string | null }[];
  }[];
  readonly summary: Record<string, number>;
}

/**
 * Runs the program to its end. Faults may hit every attempt of the first read: such a run writes nothing, ends with exit 8,
 * and is repeated, as its user would.
 */
async function runProvision(sandbox: Service, path: string, retriesLeft = 2): Promise<Ran> {
  // A fifth of the requests fail: of many hundred reads, one would fail four times in a row.
  const flags = ['-o', 'json', '--concurrency', '20', '--retries', '8'];
  const { exitCode, stdout, stderr } = await start(['provision', path, ...flags], { env: sandbox.env });
  if (exitCode === 8 && stdout === '' && retriesLeft > 0) return runProvision(sandbox, path, retriesLeft - 1);
  if (stdout === '') return { exitCode, stderr, summary: {}, failures: [], jobs: [], unknownJobs: 0 };
  const { results, summary }: Answer = JSON.parse(stdout);
  const jobs = results.flatMap(({ cron }) => cron);
  return {
    exitCode,
    stderr,
    summary,
    failures: results.flatMap(({ error }) => error ?? []),
    jobs: jobs.flatMap(({ cron_job_id }) => cron_job_id ?? []),
    unknownJobs: jobs.filter(({ status }) => status === 'unknown').length,
  };
}

/** Runs it again without faults: nothing is left to do, and nothing is written. */
async function expectRepeatWritesNothing(sandbox: Service, path: string, count: number): Promise<void> {
  await sandbox.forget();
  const again = await runProvision(sandbox, path);
  expect(again).toMatchObject({ exitCode: 0, stderr: '', summary: { unchanged: count, created: 0, reused: 0 } });
  expect(await sandbox.posts()).toEqual([]);
}

/**
 * Starts a run and kills it with SIGKILL once the service has received that many requests.
 * @returns whether it was still running
 */
async function killAfter(sandbox: Service, path: string, requests: number): Promise<boolean> {
  await sandbox.forget();
  const child = start(['provision', path, '-o', 'json'], { env: sandbox.env });
  let ended = false;
  void child.then(() => {
    ended = true;
  });
  await expect.poll(async () => ended || (await sandbox.received()).length >= requests, { interval: 20 }).toBe(true);
  child.kill('SIGKILL');
  return (await child).signal === 'SIGKILL';
}

/** Reconciles the jobs of unknown outcome, as the run advises. */
async function reconcileJobs(sandbox: Service): Promise<void> {
  await sandbox.faults();
  // A lease takes three seconds.
  const ran = await run(['cron', 'reconcile', '--assume-not-created'], { env: sandbox.env, clock: fasterClock(20) });
  expect({ code: ran.code, stderr: ran.stderr }).toMatchObject({ code: 0 });
}

const COUNT = 200;

describe('Two hundred spaces on a failing service', () => {
  test.each([1, 2, 3, 4, 5])('are each provisioned once, and a repeat sends no POST (seed %i)', async (seed) => {
    const sandbox = await service();
    await injectFaults(sandbox, seed);
    const path = write('all.yaml', rolloutManifest(COUNT));
    const ran = await runProvision(sandbox, path);
    expect(ran).toMatchObject({ failures: [], exitCode: 0, stderr: '', summary: { created: COUNT, failed: 0 } });
    await expectEachSpaceOnce(sandbox, COUNT);
    await expectRepeatWritesNothing(sandbox, path, COUNT);
  });

  test.each([6, 7, 8])(
    'are each provisioned once by a run that is repeatedly killed and restarted (seed %i)',
    async (seed) => {
      const sandbox = await service();
      await injectFaults(sandbox, seed);
      const path = write('all.yaml', rolloutManifest(COUNT));
      // Moments that differ for every seed: early ones, and ones in the middle of the work.
      const moments = Array.from({ length: 12 }, (_, index) => 1 + ((seed * 37 + index * index * 5) % 90));
      let killed = 0;
      for (const requests of moments) if (await killAfter(sandbox, path, requests)) killed += 1;
      expect(killed).toBeGreaterThan(6);
      const ran = await runProvision(sandbox, path);
      expect(ran).toMatchObject({ failures: [], exitCode: 0, stderr: '' });
      await expectEachSpaceOnce(sandbox, COUNT);
      await expectRepeatWritesNothing(sandbox, path, COUNT);
    },
  );
});

describe('Twenty spaces with chat and scheduled jobs on a failing service', () => {
  const count = 20;

  test.each([9, 10])('have each job once after a killed run is repeated and reconciled (seed %i)', async (seed) => {
    const sandbox = await service();
    await injectFaults(sandbox, seed);
    const path = write('all.yaml', scheduledManifest(count));
    const moments = Array.from({ length: 4 }, (_, index) => 3 + ((seed * 37 + index * index * 17) % 90));
    let killed = 0;
    for (const requests of moments) if (await killAfter(sandbox, path, requests)) killed += 1;
    expect(killed).toBeGreaterThan(2);
    const stormy = await runProvision(sandbox, path);
    // A job whose response is lost is not repeated: each stays open until it is reconciled, which the run reports.
    expect(stormy.unknownJobs).toBeGreaterThan(0);
    expect([9, 10]).toContain(stormy.exitCode);
    expect(stormy.stderr).toContain('partnerctl cron reconcile');
    await reconcileJobs(sandbox);
    const ran = await runProvision(sandbox, path);
    expect(ran).toMatchObject({ failures: [], exitCode: 0, stderr: '', unknownJobs: 0 });
    expect(ran.jobs).toEqual(expect.arrayContaining([...stormy.jobs]));
    await expectEachSpaceOnce(sandbox, count);
    await expectEachJobOnce(sandbox, count);
    await expectRepeatWritesNothing(sandbox, path, count);
  });
});
