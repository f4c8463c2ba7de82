import { expect } from 'vitest';
import { start } from '../e2e/program.ts';
import { manifest, type Service } from './service.ts';

/*
 * One roll-out of many spaces against a service that fails in every way it can, and installs agents again on every POST.
 */

const AGENTS = ['Support', 'Sales'];

/** The documents `s1` to `s<count>`, each with two agents. */
export function rolloutManifest(count: number): string {
  return Array.from({ length: count }, (_, index) => manifest(`s${index + 1}`, AGENTS)).join('---\n');
}

const JOBS = ['morning', 'evening', 'weekly'];

/** The documents of `rolloutManifest`, with chat and scheduled jobs for each agent. */
export function scheduledManifest(count: number): string {
  const jobs = JOBS.map((name, hour) => `{ name: ${name}, instructions: Look., schedule: '0 ${hour} * * *' }`);
  const more = `, chat: { name: Desk }, cron: [${jobs.join(', ')}] }`;
  return rolloutManifest(count).replaceAll(/(- \{ template_id: .*) \}$/gm, `$1${more}`);
}

/** Failures before and after the request was processed; about a fifth of all requests meet one. */
function weather(seed: number): object {
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

/** Makes a service that installs agents again on every repeat, with bad weather. */
export async function badService(it: Service, seed: number): Promise<void> {
  await it.set({ agents_on_repeat: 'install' });
  const set = await it.admin('PUT', '/faults', weather(seed));
  expect(set.status).toBe(200);
}

/** Every space is there once, and every agent once in it. */
export async function expectWhole(it: Service, count: number): Promise<void> {
  await it.faults();
  const spaces = await it.spaces();
  expect(spaces.map(({ external_space_id }) => external_space_id).toSorted()).toEqual(
    Array.from({ length: count }, (_, index) => `s${index + 1}`).toSorted(),
  );
  const installed = await Promise.all(
    spaces.map(async ({ external_space_id, space_id }) => ({
      space: external_space_id,
      agents: (await it.agents(space_id)).map(({ name }) => name).toSorted(),
    })),
  );
  expect(installed).toEqual(
    spaces.map(({ external_space_id }) => ({ space: external_space_id, agents: AGENTS.toSorted() })),
  );
}

/** Every agent has a source and each of its jobs, and none of them twice. */
export async function expectScheduled(it: Service, count: number): Promise<void> {
  const spaces = await it.spaces();
  const agents = (await Promise.all(spaces.map(({ space_id }) => it.agents(space_id)))).flat();
  expect(agents).toHaveLength(count * AGENTS.length);
  for (const agent of agents) {
    expect(agent).toMatchObject({ integrations: { api_chat: { source_id: expect.any(String) } } });
  }
  // Beside the way that faults are on.
  const { json } = await it.admin('GET', '/cron-jobs');
  const made: readonly { agent_id: string; name: string }[] = json.cron_jobs;
  expect(made.map(({ agent_id, name }) => `${agent_id} ${name}`).toSorted()).toEqual(
    agents.flatMap(({ agent_id }) => JOBS.map((name) => `${agent_id} ${name}`)).toSorted(),
  );
}

interface Ran {
  readonly exitCode: number | undefined;
  readonly summary: Record<string, number>;
  /** The results that hold an error, so that a failed run tells why. */
  readonly failures: readonly object[];
  /** The ids of the jobs, and how many may have been created. */
  readonly jobs: readonly string[];
  readonly openJobs: number;
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
 * One run of the program to its end. Weather may take every attempt of the very first look: such a run writes nothing and
 * ends with 8, and is run again as its user would.
 */
export async function rollOut(it: Service, path: string, looksLeft = 2): Promise<Ran> {
  const { exitCode, stdout, stderr } = await start(['provision', path, '-o', 'json'], { env: it.env });
  if (exitCode === 8 && stdout === '' && looksLeft > 0) return rollOut(it, path, looksLeft - 1);
  if (stdout === '') return { exitCode, stderr, summary: {}, failures: [], jobs: [], openJobs: 0 };
  const { results, summary }: Answer = JSON.parse(stdout);
  const jobs = results.flatMap(({ cron }) => cron);
  return {
    exitCode,
    stderr,
    summary,
    failures: results.flatMap(({ error }) => error ?? []),
    jobs: jobs.flatMap(({ cron_job_id }) => cron_job_id ?? []),
    openJobs: jobs.filter(({ status }) => status === 'unknown').length,
  };
}

/** Runs it again in good weather: nothing is left to do, and nothing is written. */
export async function expectSettled(it: Service, path: string, count: number): Promise<void> {
  await it.forget();
  const again = await rollOut(it, path);
  expect(again).toMatchObject({ exitCode: 0, stderr: '', summary: { unchanged: count, created: 0, reused: 0 } });
  expect(await it.posts()).toEqual([]);
}

/**
 * Starts a run and ends it with SIGKILL once the service has received so many requests.
 * @returns whether it was still running
 */
export async function killAfter(it: Service, path: string, requests: number): Promise<boolean> {
  await it.forget();
  const child = start(['provision', path, '-o', 'json'], { env: it.env });
  let ended = false;
  void child.then(() => {
    ended = true;
  });
  while (!ended && (await it.received()).length < requests) await new Promise(setImmediate);
  child.kill('SIGKILL');
  return (await child).signal === 'SIGKILL';
}

/** Settles in good weather the jobs whose outcome is open, as a run that ended so says. */
export async function settleJobs(it: Service): Promise<void> {
  await it.faults();
  const words = ['cron', 'reconcile', '--assume-not-created', '--grace', '100ms'];
  const { exitCode, stderr } = await start(words, { env: it.env });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
}
