import { type ChildProcess, execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Http } from '../api/http.ts';
import { Transport } from '../api/transport.ts';
import { DEFAULT_RETRIES } from '../config/global-flags.ts';
import { reconcileJobs } from '../cron/reconcile.ts';
import { JobLists, listNamedJobs } from '../cron/service-jobs.ts';
import { PartnerctlError } from '../errors.ts';
import { type Clock, systemClock } from '../platform/clock.ts';
import type { Environment } from '../platform/io.ts';
import type { FaultPlan } from '../sandbox/faults.ts';
import { type Sandbox, startSandbox } from '../sandbox/index.ts';
import type { LoggedRequest, Observe } from '../sandbox/service.ts';
import { openStore, type Settings, type Store } from '../sandbox/store.ts';
import type { Log } from '../state/log.ts';
import type { Mirror } from './mirror.ts';

/** Where and how the program runs in a rehearsal. */
export interface StageDeps {
  readonly mirror: Mirror;
  readonly settings: Settings;
  /** The command that starts the program. */
  readonly program: readonly string[];
  readonly env: Environment;
  /** Holds the state and the profiles of each stage. */
  readonly directory: string;
  readonly signal: AbortSignal;
  readonly openLog: (path: string) => Promise<Log>;
}

/** How a run of the program ended. */
export interface Ended {
  /** Null if it was killed. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function fillStore({ spaces, agents, sources, cronJobs }: Mirror, settings: Settings): Promise<Store> {
  const store = await openStore(undefined);
  store.settings.put(settings);
  for (const row of spaces) store.spaces.put(row);
  for (const row of agents) store.agents.put(row);
  for (const row of sources) store.sources.put(row);
  for (const row of cronJobs) store.cronJobs.put(row);
  return store;
}

async function callAdmin({ adminUrl, adminKey }: Sandbox, method: string, path: string, body: object): Promise<void> {
  const headers = { Authorization: `Bearer ${adminKey}`, 'Content-Type': 'application/json' };
  const response = await fetch(`${adminUrl}${path}`, { method, headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
}

/**
 * Treats jobs that the sandbox does not list as not created, as an operator does after waiting for the lease of the
 * run that was killed. Here it is certain that this run sends nothing more: the lease passes on the sandbox's clock.
 */
async function reconcile(
  { openLog, signal }: StageDeps,
  { baseUrl, token }: Sandbox,
  state: string,
  pass: (ms: number) => Promise<void>,
): Promise<void> {
  let passedMs = 0;
  const clock: Clock = {
    now: systemClock.now,
    monotonic: () => systemClock.monotonic() + passedMs,
    async sleep(ms) {
      signal.throwIfAborted();
      await pass(ms);
      passedMs += ms;
    },
  };
  const transport = new Transport({ origin: new URL(baseUrl).origin, proxy: undefined });
  const http = new Http({
    ...{ baseUrl, token, transport, clock: systemClock, random: Math.random, interrupt: signal },
    ...{ retries: DEFAULT_RETRIES, deadline: undefined, userAgent: 'partnerctl' },
    redact: (text) => text,
    trace: () => undefined,
  });
  const lists = new JobLists({ list: () => listNamedJobs(http), clock, hint: () => '' });
  const decisions = { isNotCreated: async () => true, onWait: () => undefined };
  try {
    await reconcileJobs({ origin: baseUrl, log: await openLog(state), clock, signal, lists, ...decisions });
  } catch (error) {
    signal.throwIfAborted();
    // A list that cannot be read: the next run meets it, too, and tells.
    if (!(error instanceof PartnerctlError)) throw error;
  } finally {
    await transport.close();
  }
}

/** What a rehearsal runs the program against: a sandbox of its own with what the mirror has, and a state of its own. */
export type Stage = Awaited<ReturnType<typeof openStage>>;

/** Opens a stage. The caller closes it. @param name of its directory */
export async function openStage(deps: StageDeps, name: string, faults: FaultPlan) {
  const { mirror, settings, program, env, directory, signal } = deps;
  const [file = '', ...first] = program;
  const home = join(directory, name);
  const state = join(home, 'state.jsonl');
  const store = await fillStore(mirror, settings);
  const requests: LoggedRequest[] = [];
  const handled: Promise<void>[] = [];
  let child: ChildProcess | undefined;
  let killAt: number | undefined;
  const observe: Observe = async (request, handle) => {
    const isPoint = requests.push(request) === killAt;
    const handling = handle();
    handled.push(handling);
    await handling;
    if (isPoint) child?.kill('SIGKILL');
  };
  const sandbox = await startSandbox({ store, faults, observe });
  const childEnv = {
    ...env,
    ...{ PARTNER_BASE_URL: sandbox.baseUrl, PARTNER_TOKEN: sandbox.token, PARTNER_PROFILE: undefined },
    ...{ PARTNER_STATE: state, PARTNER_CONFIG_DIR: join(home, 'config') },
    // It would write a summary of each run to the page of the workflow.
    GITHUB_ACTIONS: undefined,
  };
  return {
    store,
    requests,
    /** Runs the program, and kills it once the sandbox has handled the request with this number, from 1. */
    run(args: readonly string[], killedAt?: number): Promise<Ended> {
      killAt = killedAt;
      const options = { env: childEnv, signal, killSignal: 'SIGKILL', maxBuffer: Number.POSITIVE_INFINITY } as const;
      return new Promise((resolve, reject) => {
        const started = execFile(file, [...first, '-o', 'json', ...args], options, (_, stdout, stderr) => {
          if (signal.aborted) reject(signal.reason);
          else resolve({ exitCode: started.exitCode, stdout, stderr });
        });
        child = started;
      });
    },
    loseState: () => rm(state, { force: true }),
    reconcile: () =>
      reconcile(deps, sandbox, state, async (ms) => {
        await Promise.all(handled);
        await callAdmin(sandbox, 'PATCH', '/clock', { advance: `${Math.ceil(ms)}ms` });
      }),
    /** From now on, every request succeeds. */
    async endFaults(): Promise<void> {
      await callAdmin(sandbox, 'PUT', '/faults', { rules: [] });
      store.settings.put({ ...settings, rate_limit: null });
    },
    passWeek: () => callAdmin(sandbox, 'PATCH', '/clock', { advance: '7d' }),
    close: () => sandbox.close(),
  };
}
