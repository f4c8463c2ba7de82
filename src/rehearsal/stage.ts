import { type ChildProcess, execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ListedCronJob } from '../contract/resources.ts';
import { reconcileJobs } from '../cron/find-lost.ts';
import { JobLists } from '../cron/job-list.ts';
import { type Clock, systemClock } from '../platform/clock.ts';
import type { Environment } from '../platform/io.ts';
import { scheduleJob } from '../sandbox/cron.ts';
import { createInjector, type FaultPlan } from '../sandbox/faults.ts';
import { startSandbox } from '../sandbox/index.ts';
import { found } from '../sandbox/input.ts';
import type { Settings } from '../sandbox/rows.ts';
import type { LoggedRequest, Observe, Service } from '../sandbox/service.ts';
import type { Log } from '../state/log.ts';
import { type Mirror, moveRecords } from './mirror.ts';

/** What the stages of a rehearsal have in common. */
export interface StageDeps {
  readonly mirror: Mirror;
  readonly settings: Settings;
  /** The command that starts the program. */
  readonly program: readonly string[];
  readonly env: Environment;
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

/** Where to kill a run: before or after the request with this number, from 1, is handled. */
export interface Kill {
  readonly at: number;
  readonly when: 'before' | 'after';
}

/** No request is later than this: the most that a fault can delay it. */
const LATEST_MS = 600_000;

function fill(service: Service, token: string, { spaces, agents, sources, cronJobs, missingScopes }: Mirror): void {
  const { store } = service;
  const every = found(store.tokens.get(token), 'token', token);
  store.tokens.put({ ...every, scopes: every.scopes.filter((scope) => !missingScopes.includes(scope)) });
  for (const row of spaces) store.spaces.put(row);
  for (const row of agents) store.agents.put(row);
  for (const row of sources) store.sources.put(row);
  for (const row of cronJobs) scheduleJob(service, row);
}

/** A sandbox with what the mirror has, and a state of its own, against which the program runs. */
export type Stage = Awaited<ReturnType<typeof openStage>>;

/** Opens a stage. The caller closes it. @param name of its directory */
export async function openStage(deps: StageDeps, name: string, faults: FaultPlan) {
  const { mirror, settings, program, env, directory, signal, openLog } = deps;
  const [file = '', ...script] = program;
  const state = join(directory, name, 'state.jsonl');
  const requests: LoggedRequest[] = [];
  const handling = new Map<LoggedRequest, Promise<void>>();
  let running: { readonly child: ChildProcess; readonly kill: Kill | undefined } | undefined;
  const observe: Observe = async (request, handle) => {
    const { at, when } = running?.kill ?? {};
    const isPoint = requests.push(request) === at;
    if (isPoint && when === 'before') return void running?.child.kill('SIGKILL');
    const handled = handle();
    handling.set(request, handled);
    await handled;
    if (isPoint) running?.child.kill('SIGKILL');
  };
  const { baseUrl, token, service, close } = await startSandbox({ faults, observe });
  let current = settings;
  fill(service, token, mirror);
  await (await openLog(state)).append(moveRecords(mirror, baseUrl));
  const childEnv = {
    ...env,
    ...{ PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: token, PARTNER_PROFILE: undefined },
    ...{ PARTNER_STATE: state, PARTNER_CONFIG_DIR: join(directory, name, 'config'), PARTNER_OUTPUT: undefined },
    // Each run would write a summary to the page of the workflow, and its report is read.
    ...{ GITHUB_ACTIONS: undefined, FORCE_COLOR: undefined },
  };
  return {
    service,
    requests,
    close,
    loseState: () => rm(state, { force: true }),

    /** Runs the program with a balance that is topped up. */
    run(args: readonly string[], kill?: Kill): Promise<Ended> {
      service.store.settings.put(current);
      const options = { env: childEnv, signal, killSignal: 'SIGKILL', maxBuffer: Number.POSITIVE_INFINITY } as const;
      return new Promise((resolve, reject) => {
        let [stdout, stderr] = ['', ''];
        const child = execFile(file, [...script, ...args], options, (_, ...output) => {
          [stdout, stderr] = output;
        });
        // An abort ends the wait above at once: its files are removed only when the program has ended.
        child.once('close', () => {
          if (signal.aborted) reject(signal.reason);
          else resolve({ exitCode: child.exitCode, stdout, stderr });
        });
        running = { child, kill };
      });
    },

    /**
     * Settles open reservations by what the sandbox has, as `cron reconcile --assume-not-created` does after a lease. The
     * lease passes on the clock of the sandbox, where late requests are carried out when they are due.
     */
    async reconcile(): Promise<void> {
      let passedMs = 0;
      const sleep = async (ms: number): Promise<void> => {
        // No run is left: what is not late is handled at once.
        const isLate = ({ fault }: LoggedRequest) => fault?.split(' ').includes('late');
        await Promise.all([...handling].flatMap(([request, handled]) => (isLate(request) ? [] : [handled])));
        await service.clock.change(undefined, ms);
        passedMs += ms;
      };
      const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + passedMs, sleep };
      async function* list(): AsyncGenerator<ListedCronJob> {
        for (const { schedule, ...job } of service.store.cronJobs.all())
          yield { ...job, agent_text: undefined, schedule: { ...schedule.data, timezone: schedule.timezone } };
      }
      const lists = new JobLists({ list, clock, hint: () => '' });
      const decisions = { isNotCreated: async () => true, onWait: () => undefined };
      await reconcileJobs({ origin: baseUrl, log: await openLog(state), clock, signal, lists, ...decisions });
    },

    /** Carries out what is late. From now on, every request succeeds. */
    async endFaults(): Promise<void> {
      service.faults = createInjector({ rules: [] });
      current = { ...settings, rate_limit: null };
      await service.clock.change(undefined, LATEST_MS);
    },
  };
}
