import { ListUnavailable } from '../api/list.ts';
import type { ListedCronJob } from '../contract/resources.ts';
import { comparableAgent } from '../contract/values.ts';
import { InterruptedError, PartnerctlError } from '../errors.ts';
import { groupBy } from '../platform/group-by.ts';
import { type EnsureDeps, ensureOnce, type Feature, type Verdict } from '../state/ensure-once.ts';
import { LEASE_MS } from '../state/lease.ts';
import type { Creation, SendOptions } from '../state/once.ts';
import { decide, type Knowledge, type RunOptions } from './decide.ts';
import {
  type CronJob,
  cronKey,
  JOB_KIND,
  type JobData,
  type JobReservation,
  type JobStandings,
  toJobData,
  toNfc,
} from './job.ts';
import { indexLookAlikes } from './look-alikes.ts';
import { created, failed, type JobOutcome, outcome, type Subject, unknown } from './outcomes.ts';
import { findLostJobs } from './reconcile.ts';
import { completeSchedule } from './schedule.ts';
import { findInList, type JobList, type JobLists } from './service-jobs.ts';

export interface CreateDeps extends EnsureDeps, Pick<Subject, 'command'> {
  /** The base URL of the service. */
  readonly origin: string;
  readonly lists: JobLists;
  /** Called if the list cannot be read at all: only the state prevents duplicates then. */
  readonly onUnavailable: (reason: ListUnavailable) => void;
  /** Sends the POST once. @throws OutcomeUnknownError; any other PartnerctlError proves that no job was created */
  readonly post: (job: CronJob, options: SendOptions) => Promise<string>;
}

export interface WantedJob {
  readonly index: number;
  /** Its file and line: `jobs.yaml:3`. */
  readonly source: string | undefined;
  readonly job: CronJob;
}

export interface CreatedJob extends WantedJob, JobOutcome {
  readonly key: string;
}

type Wanted = WantedJob & Subject;

/** What was decided about jobs so far. */
interface Decided {
  readonly settled: [Wanted, JobOutcome][];
  readonly adopt: { readonly wanted: Wanted; readonly listed: ListedCronJob }[];
  readonly wait: JobReservation[];
  readonly create: Creation<Wanted, JobData>[];
  /** What only the list can tell, and what the list does not show although it is recorded. */
  readonly undecided: Wanted[];
  readonly unlisted: Wanted[];
}

/** Returns whether jobs have an agent and a name of those of a file. */
export function namedIn(jobs: readonly WantedJob[]): NonNullable<RunOptions['isNamed']> {
  const byAgent = groupBy(jobs, ({ job }) => comparableAgent(job.agent_id));
  const names = new Map([...byAgent].map(([agent, own]) => [agent, new Set(own.map(({ job }) => toNfc(job.name)))]));
  return ({ agent_id, name }) => names.get(comparableAgent(agent_id))?.has(toNfc(name)) ?? false;
}

/** Judges jobs by the log and the list, sends, and finds what was lost. */
class JobFeature implements Feature<Wanted, JobData, JobOutcome> {
  readonly kind = JOB_KIND;
  private readonly deps: CreateDeps;
  private readonly options: RunOptions;
  /** Indexed once for each list: it takes a hash of each text. */
  private lookAlikes: { readonly list: unknown; readonly find: Knowledge['findLookAlikes'] } | undefined;

  constructor(deps: CreateDeps, options: RunOptions) {
    this.deps = deps;
    this.options = options;
  }

  async judge(
    wanted: readonly Wanted[],
    standings: JobStandings,
    read: () => Promise<JobStandings>,
  ): Promise<Verdict<Wanted, JobData, JobOutcome>> {
    const { clock, signal } = this.deps;
    const byLog = this.decideAll(wanted, { standings, list: undefined });
    if (byLog.undecided.length === 0) return byLog;
    const byList = await this.judgeByList(byLog.undecided, standings, read, false);
    let results = [byLog, byList];
    const isBusy = results.some(({ wait, create, settled }) => wait.length + create.length + settled.length > 0);
    if (byList.unlisted.length > 0 && !isBusy) {
      // A service may take a while to list a new job.
      this.deps.onWait(LEASE_MS);
      await clock.sleep(LEASE_MS, signal);
      results = [await this.judgeByList(byList.unlisted, standings, read, true)];
    }
    await this.adopt(results.flatMap(({ adopt }) => adopt));
    const settled = results.flatMap((each) => each.settled);
    const create = results.flatMap((each) => each.create);
    const wait = results.flatMap((each) => each.wait);
    if (!this.options.dryRun) return { settled, wait, create };
    return {
      settled: [...settled, ...create.map(({ wanted: each }) => [each, outcome('planned')] as const)],
      wait,
      create: [],
    };
  }

  post({ job }: Wanted, options: SendOptions): Promise<string> {
    return this.deps.post(job, options);
  }

  isLarge(): boolean {
    return false;
  }

  find(...[lost]: Parameters<Feature<Wanted, JobData, JobOutcome>['find']>) {
    return findLostJobs(this.deps, lost);
  }

  toOutcome(...[wanted, result]: Parameters<Feature<Wanted, JobData, JobOutcome>['toOutcome']>): JobOutcome {
    if (result.kind === 'created') return created(wanted, result.id, result.unrecorded);
    return result.kind === 'failed'
      ? failed(wanted, result.error)
      : unknown(wanted, result.reservation.at, result.error);
  }

  notSent(wanted: Wanted, error: PartnerctlError, isTold: boolean): JobOutcome {
    return isTold ? outcome('skipped') : failed(wanted, error);
  }

  private decideAll(
    wanted: readonly Wanted[],
    known: Pick<Knowledge, 'standings' | 'list'>,
    isWatched = false,
  ): Decided {
    const { origin, clock } = this.deps;
    const { standings, list = 'closed' } = known;
    const findLookAlikes = (job: CronJob) => {
      if (this.lookAlikes?.list !== list) {
        this.lookAlikes = { list, find: indexLookAlikes(list, standings, origin, this.options.isNamed) };
      }
      return this.lookAlikes.find(job);
    };
    const all = { ...this.options, ...known, origin, isWatched, findLookAlikes, now: clock.now() };
    const decided: Decided = { settled: [], adopt: [], wait: [], create: [], undecided: [], unlisted: [] };
    for (const each of wanted) {
      const decision = decide({ ...all, ...each });
      if (decision.kind === 'list') decided.undecided.push(each);
      else if (decision.kind === 'unlisted') decided.unlisted.push(each);
      else if (decision.kind === 'wait') decided.wait.push(decision.reservation);
      else if (decision.kind === 'create') {
        decided.create.push({ wanted: each, data: toJobData({ ...each.job, origin }, each.job), seen: decision.seen });
      } else {
        if (decision.kind === 'adopt') decided.adopt.push({ wanted: each, listed: decision.listed });
        decided.settled.push([each, decision.outcome]);
      }
    }
    return decided;
  }

  private async judgeByList(
    wanted: readonly Wanted[],
    standings: JobStandings,
    read: () => Promise<JobStandings>,
    isWatched: boolean,
  ): Promise<Decided> {
    const { lists } = this.deps;
    const list = await (isWatched ? lists.anew() : lists.recent()).catch((error: unknown) => {
      if (!(error instanceof PartnerctlError) || error instanceof InterruptedError) throw error;
      return error;
    });
    if (list instanceof PartnerctlError) {
      // That a recorded job exists is known without the list.
      const closed = this.decideAll(wanted, { standings, list: 'closed' });
      for (const { wanted: each } of closed.create) closed.settled.push([each, failed(each, list)]);
      return { ...closed, create: [] };
    }
    if (list instanceof ListUnavailable) {
      this.deps.onUnavailable(list);
      return this.decideAll(wanted, { standings, list: 'closed' });
    }
    // A listed job may have been created since the log was read. Its reservation was in the log before.
    const current = wanted.some(({ job }) => isListed(list, job)) ? await read() : standings;
    return this.decideAll(wanted, { standings: current, list }, isWatched);
  }

  private async adopt(found: Decided['adopt']): Promise<void> {
    if (this.options.dryRun) return;
    const { log, origin } = this.deps;
    await log.append(
      found.map(({ wanted: { key, job }, listed }) => {
        const data = toJobData({ ...job, origin }, { ...listed, schedule: completeSchedule(listed.schedule) });
        return log.newRecord('cron.created', { key, object: listed.cron_job_id, data });
      }),
    );
  }
}

function isListed(list: JobList, job: CronJob): boolean {
  const { same, maybe } = findInList(list, job);
  return same.length + maybe.length > 0;
}

/** Creates jobs, each at most once, and emits what became of each. @throws LocalError if the state cannot be read */
export async function ensureJobs(
  deps: CreateDeps,
  jobs: readonly WantedJob[],
  options: RunOptions,
  emit: (created: CreatedJob) => void,
): Promise<void> {
  const { origin, command } = deps;
  const wanted = jobs.map((each) => ({ ...each, key: cronKey({ ...each.job, origin }), command }));
  await ensureOnce(deps, new JobFeature(deps, options), wanted, ({ index, source, job, key }, ended) =>
    emit({ index, source, job, key, ...ended }),
  );
}
