import { ListUnavailable } from '../api/list.ts';
import type { ListedCronJob } from '../contract/resources.ts';
import { InterruptedError, PartnerctlError, stopsRun } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { waitOutLeases } from '../state/lease.ts';
import type { Log } from '../state/log.ts';
import type { Result, SendOptions } from '../state/once.ts';
import { decide } from './decide.ts';
import {
  type CronJob,
  cronKey,
  JOBS,
  type JobData,
  type JobReservation,
  type JobsInLog,
  jobsInLog,
  toJobData,
} from './job.ts';
import { created, failed, type JobOutcome, outcome, type Subject, unknown } from './outcomes.ts';
import { completeSchedule } from './schedule.ts';
import { findInList, type JobList, type JobLists } from './service-jobs.ts';

export interface CreateDeps extends Pick<Subject, 'command'> {
  /** The base URL of the service. */
  readonly origin: string;
  readonly log: Log;
  readonly clock: Clock;
  /** Once it aborts, nothing more is sent. */
  readonly signal: AbortSignal;
  readonly lists: JobLists;
  /** Called if the list cannot be read at all: only the state prevents duplicates then. */
  readonly onUnavailable: (reason: ListUnavailable) => void;
  /** Sends the POST once. @throws OutcomeUnknownError; any other PartnerctlError proves that no job was created */
  readonly post: (job: CronJob, options: SendOptions) => Promise<string>;
  /** Called before a wait for another process, with its length in milliseconds. */
  readonly onWait: (ms: number) => void;
}

export interface CreateOptions {
  /** Whether an existing job counts as success. If so, waits for a job that another process is creating. */
  readonly ensure: boolean;
  /** Whether to skip all writes, both to the state and to the service, and all waits for other processes. */
  readonly dryRun: boolean;
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

class CreateRun {
  private readonly deps: CreateDeps;
  private readonly options: CreateOptions;
  private readonly emit: (created: CreatedJob) => void;
  /** The jobs without an outcome, by their index. */
  private readonly pending: Map<number, Wanted>;
  private readonly awaited = new Map<Wanted, JobReservation>();
  /** Aborts after a failure that would repeat, such as a 402. */
  private readonly stop = new AbortController();

  constructor(deps: CreateDeps, jobs: readonly WantedJob[], options: CreateOptions, emit: CreateRun['emit']) {
    const { origin, command } = deps;
    const wanted = jobs.map((each) => ({ ...each, key: cronKey({ ...each.job, origin }), command }));
    this.deps = deps;
    this.options = options;
    this.emit = emit;
    this.pending = new Map(wanted.map((each) => [each.index, each]));
  }

  async run(): Promise<void> {
    let view = await this.readLog();
    try {
      while (this.pending.size > 0) {
        await this.createAll([...this.pending.values()], view);
        await this.waitForOthers();
        if (this.pending.size > 0) view = await this.readLog();
      }
    } catch (error) {
      if (!(error instanceof PartnerctlError)) throw error;
      const isTold = this.stop.signal.aborted;
      for (const [at, each] of [...this.pending.values()].entries()) {
        this.settle(each, at > 0 || isTold ? outcome('skipped') : failed(each, error));
      }
    }
  }

  private async readLog(): Promise<JobsInLog> {
    return jobsInLog(await this.deps.log.read(), this.deps.origin);
  }

  private settle({ index, source, job, key }: Wanted, ended: JobOutcome): void {
    this.pending.delete(index);
    this.emit({ index, source, job, key, ...ended });
  }

  private async createAll(wanted: readonly Wanted[], view: JobsInLog): Promise<void> {
    const { deps, stop } = this;
    const left = await this.decideAll(wanted, view, undefined);
    if (this.options.dryRun) {
      for (const each of await this.decideByList(left, view)) this.settle(each, outcome('planned'));
      return;
    }
    if (left.length === 0) return;
    // Not needed for a job that exists.
    const { createOnce } = await import('../state/once.ts');
    const items = left.map((each) => ({ ...each, data: toJobData({ ...each.job, origin: deps.origin }, each.job) }));
    await createOnce({ ...deps, signal: AbortSignal.any([deps.signal, stop.signal]) }, JOBS, items, {
      prepare: (batch) => this.decideByList(batch, view),
      act: async ({ job }, options) => {
        try {
          return await deps.post(job, options);
        } catch (error) {
          // Before the release is recorded: that may take a second, in which others would be sent.
          if (stopsRun(error)) stop.abort(error);
          throw error;
        }
      },
      settled: async (each, result) => {
        const ended = await this.outcomeOf(each, result);
        if (ended) this.settle(each, ended);
      },
    });
  }

  /** @param list undefined to decide by the log alone @returns the jobs to create, or to read the list for */
  private async decideAll<Each extends Wanted>(
    wanted: readonly Each[],
    view: JobsInLog,
    list: JobList | 'closed' | undefined,
  ): Promise<readonly Each[]> {
    const { ensure, dryRun } = this.options;
    const known = { ...view, list, ensure, canWait: ensure && !dryRun, now: this.deps.clock.now() };
    const left: Each[] = [];
    for (const each of wanted) {
      const decision = decide({ ...each, ...known });
      if (decision.kind === 'list') left.push(each);
      else if (decision.kind === 'create') left.push({ ...each, seen: decision.seen });
      else if (decision.kind === 'wait') this.awaited.set(each, decision.reservation);
      else {
        if (decision.kind === 'adopt') await this.adopt(each, decision.listed);
        this.settle(each, decision.outcome);
      }
    }
    return left;
  }

  /** Reads the list for jobs, and decides. @returns those to create */
  private async decideByList<Each extends Wanted>(wanted: readonly Each[], view: JobsInLog): Promise<readonly Each[]> {
    if (wanted.length === 0) return [];
    const list = await this.deps.lists.recent().catch((error: unknown) => {
      if (!(error instanceof PartnerctlError) || error instanceof InterruptedError) throw error;
      return error;
    });
    if (list instanceof PartnerctlError) {
      if (stopsRun(list)) this.stop.abort(list);
      // That a recorded job exists is known without the list.
      for (const each of await this.decideAll(wanted, view, 'closed')) this.settle(each, failed(each, list));
      return [];
    }
    if (list instanceof ListUnavailable) {
      this.deps.onUnavailable(list);
      return await this.decideAll(wanted, view, 'closed');
    }
    const isListed = ({ job }: Wanted): boolean => {
      const { same, maybe } = findInList(list, job);
      return same.length + maybe.length > 0;
    };
    // A listed job may have been created since the log was read. Its reservation was in the log before.
    return await this.decideAll(wanted, wanted.some(isListed) ? await this.readLog() : view, list);
  }

  private async adopt({ key, job }: Wanted, listed: ListedCronJob): Promise<void> {
    if (this.options.dryRun) return;
    const { log, origin } = this.deps;
    const data = toJobData({ ...job, origin }, { ...listed, schedule: completeSchedule(listed.schedule) });
    await log.append([log.newRecord('cron.created', { key, object: listed.cron_job_id, data })]);
  }

  private async waitForOthers(): Promise<void> {
    const { deps, awaited } = this;
    if (awaited.size === 0) return;
    const ids = new Set([...awaited.values()].map(({ id }) => id));
    const open = await waitOutLeases(deps, JOBS, ids, { skipUnknown: true, onWait: deps.onWait });
    for (const [wanted, { id, at }] of awaited) {
      if (open.some((each) => each.id === id)) this.settle(wanted, unknown(wanted, at));
    }
    awaited.clear();
  }

  /** @returns undefined if another process was faster: the job stays pending, and is decided about again */
  private async outcomeOf(wanted: Wanted, result: Result<JobData>): Promise<JobOutcome | undefined> {
    if (result.kind === 'created') return created(wanted, result.id, result.unrecorded);
    if (result.kind === 'failed') return failed(wanted, result.error);
    if (result.kind === 'taken') return undefined;
    const { error, reservation } = result;
    const { findLostJob } = await import('./reconcile.ts');
    return (await findLostJob(this.deps, reservation, error)) ?? unknown(wanted, reservation.at, error);
  }
}

/** Creates jobs, each at most once, and emits what became of each. @throws LocalError if the state cannot be read */
export async function createJobs(
  deps: CreateDeps,
  jobs: readonly WantedJob[],
  options: CreateOptions,
  emit: (created: CreatedJob) => void,
): Promise<void> {
  await new CreateRun(deps, jobs, options, emit).run();
}
