import { expect, test } from 'vitest';
import { start } from '../support/program.ts';
import { fasterClock, run } from '../support/run.ts';
import { manifest, type Service, service, write } from '../support/service.ts';

/* Provisioning many spaces on a service that fails in every way, and installs agents again on every POST. */

const AGENTS = ['Sales', 'Support'];
const JOBS = ['morning', 'evening', 'weekly'];

/** A manifest with this many documents, each with two agents. @param more settings of each agent */
function rollout(count: number, more = ''): string {
  const documents = Array.from({ length: count }, (_, index) => manifest(`s${index + 1}`, AGENTS));
  return write('all.yaml', documents.join('---\n').replaceAll(/(- \{ template_id: .*) \}$/gm, `$1${more} }`));
}

/** A service on which about a fifth of all requests fail, before or after they are processed. */
async function failingService(seed: number): Promise<Service> {
  const sandbox = await service();
  await sandbox.set({ agents_on_repeat: 'install' });
  const rules = [
    { kind: 'status', status: 503, rate: 0.04 },
    { kind: 'status', status: 503, stage: 'after', rate: 0.04 },
    { kind: 'status', status: 429, retry_after: 0.05, rate: 0.03 },
    { kind: 'reset', rate: 0.04 },
    { kind: 'reset', stage: 'after', rate: 0.04 },
    { kind: 'cut', rate: 0.03 },
    { kind: 'html', stage: 'after', rate: 0.02 },
  ];
  expect((await sandbox.admin('PUT', '/faults', { rules, seed })).status).toBe(200);
  return sandbox;
}

interface Answer {
  readonly results: readonly {
    readonly error?: object;
    readonly cron: readonly { readonly status: string; readonly cron_job_id: string | null }[];
  }[];
  readonly summary: Readonly<Record<string, number>>;
}

/** Runs the program to its end. A run whose first read fails at every attempt writes nothing, and is repeated. */
async function provision(sandbox: Service, path: string) {
  // Of many hundred reads, one would fail four times in a row.
  const args = ['provision', path, '-o', 'json', '--concurrency', '20', '--retries', '8'];
  for (;;) {
    const { exitCode, stdout, stderr } = await start(args, { env: sandbox.env });
    if (exitCode === 8 && stdout === '') continue;
    const { results, summary }: Answer = JSON.parse(stdout);
    const jobs = results.flatMap(({ cron }) => cron);
    return { exitCode, stderr, summary, jobs, failures: results.flatMap(({ error }) => error ?? []) };
  }
}

/** Expects each space once, with each agent once in it, and that another run writes nothing. @returns the agents */
async function expectEachOnce(sandbox: Service, path: string, count: number) {
  await sandbox.faults();
  const spaces = await sandbox.spaces();
  expect(spaces.map(({ external_space_id }) => external_space_id).toSorted()).toEqual(
    Array.from({ length: count }, (_, index) => `s${index + 1}`).toSorted(),
  );
  const agents = await Promise.all(spaces.map(({ space_id }) => sandbox.agents(space_id)));
  for (const installed of agents) expect(installed.map(({ name }) => name).toSorted()).toEqual(AGENTS);
  await sandbox.forget();
  const again = await provision(sandbox, path);
  expect(again).toMatchObject({ exitCode: 0, stderr: '', summary: { unchanged: count, created: 0, reused: 0 } });
  expect(await sandbox.posts()).toEqual([]);
  return agents.flat();
}

test.each([1, 2, 3])('200 spaces are each provisioned once, and a repeat sends no POST (seed %i)', async (seed) => {
  const sandbox = await failingService(seed);
  const path = rollout(200);
  const ran = await provision(sandbox, path);
  expect(ran).toMatchObject({ failures: [], exitCode: 0, stderr: '', summary: { created: 200, failed: 0 } });
  await expectEachOnce(sandbox, path, 200);
});

/** Kills a run once the service has received that many requests. @returns whether it was still running */
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

test.each([9, 10])(
  'Twenty spaces have each chat and job once after killed runs are repeated and reconciled (seed %i)',
  async (seed) => {
    const sandbox = await failingService(seed);
    const jobs = JOBS.map((name, hour) => `{ name: ${name}, instructions: Look., schedule: '0 ${hour} * * *' }`);
    const path = rollout(20, `, chat: { name: Desk }, cron: [${jobs.join(', ')}]`);
    const moments = Array.from({ length: 4 }, (_, index) => 3 + ((seed * 37 + index * index * 17) % 90));
    let killed = 0;
    for (const requests of moments) if (await killAfter(sandbox, path, requests)) killed += 1;
    expect(killed).toBeGreaterThan(2);
    const stormy = await provision(sandbox, path);
    // A job whose response is lost is not repeated: each stays open until it is reconciled, which the run reports.
    expect(stormy.jobs.map(({ status }) => status)).toContain('unknown');
    expect([9, 10]).toContain(stormy.exitCode);
    expect(stormy.stderr).toContain('partnerctl cron reconcile');
    await sandbox.faults();
    // A lease takes three seconds.
    const reconcile = ['cron', 'reconcile', '--assume-not-created'];
    expect((await run(reconcile, { env: sandbox.env, clock: fasterClock(20) })).code).toBe(0);
    const ran = await provision(sandbox, path);
    expect(ran).toMatchObject({ failures: [], exitCode: 0, stderr: '' });
    const ids = ran.jobs.map(({ cron_job_id }) => cron_job_id);
    expect(ids).toEqual(expect.arrayContaining(stormy.jobs.flatMap(({ cron_job_id }) => cron_job_id ?? [])));
    const agents = await expectEachOnce(sandbox, path, 20);
    for (const agent of agents) {
      expect(agent).toMatchObject({ integrations: { api_chat: { source_id: expect.any(String) } } });
    }
    const made: readonly { agent_id: string; name: string }[] = (await sandbox.admin('GET', '/cron-jobs')).json
      .cron_jobs;
    expect(made.map(({ agent_id, name }) => `${agent_id} ${name}`).toSorted()).toEqual(
      agents.flatMap(({ agent_id }) => JOBS.map((name) => `${agent_id} ${name}`)).toSorted(),
    );
  },
);
