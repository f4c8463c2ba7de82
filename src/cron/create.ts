import { InterruptedError, PartnerctlError, stopsRun } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { waitOutLeases } from '../state/lease.ts';
import type { Log } from '../state/log.ts';
import type { Item, Result, SendOptions } from '../state/once.ts';
import { standingOf, standings } from '../state/standing.ts';
import { type Decision, decide, outcomeOfReserved } from './decide.ts';
import {
  type CronJob,
  cronKey,
  JOBS,
  type JobData,
  type JobReservation,
  type JobStanding,
  openReservations,
  recordedIds,
  toJobData,
} from './job.ts';
import type { CreateOutcome } from './outcomes.ts';
import { completeSchedule } from './schedule.ts';
import { findInList, type JobList, type JobLists } from './service-jobs.ts';

/** What `createJobs` needs. */
export interface CreateDeps {
  /** The base URL of the service. */
  readonly origin: string;
  readonly log: Log;
  readonly clock: Clock;
  /** Once it aborts, nothing more is sent. */
  readonly signal: AbortSignal;
  readonly lists: JobLists;
  /** Called once if the list cannot be read at all: only the state prevents duplicates then. */
  readonly onUnavailable: (reason: PartnerctlError) => Promise<void>;
  /**
   * Sends the POST once.
   * @throws OutcomeUnknownError if a job may have been created; any other PartnerctlError proves that none was
   */
  readonly post: (job: CronJob, options: SendOptions) => Promise<string>;
  /** Called before a wait for another process, with its length in milliseconds. */
  readonly onWait?: ((ms: number) => void) | undefined;
}

export interface CreateOptions {
  /** Whether an existing job counts as success. If so, waits for a job that another process is creating. */
  readonly ensure: boolean;
  /** Whether to skip all writes, both to the state and to the service, and all waits for other processes. */
  readonly dryRun: boolean;
  /** Called with each outcome as soon as it is known. */
  readonly onOutcome?: ((index: number, outcome: CreateOutcome) => void) | undefined;
}

/** A job that has no outcome yet. */
interface Wanted extends Item<JobData> {
  readonly index: number;
  readonly job: CronJob;
  readonly key: string;
}

/** What the log says, once it has been read. */
interface LogView {
  readonly all: ReadonlyMap<string, JobStanding>;
  readonly recorded: ReadonlySet<string>;
  /** The open reservations of this service. */
  readonly open: readonly JobReservation[];
}

class CreateRun {
  private readonly deps: CreateDeps;
  private readonly options: CreateOptions;
  /** Aborts after a failure that would repeat, such as a 402. */
  private readonly stop = new AbortController();
  private readonly outcomes = new Map<number, CreateOutcome>();
  /** The jobs to decide about again, because another process reserved them, with its reservation. */
  private readonly taken = new Map<Wanted, JobReservation | undefined>();
  private isUnavailable = false;

  constructor(deps: CreateDeps, options: CreateOptions) {
    this.deps = deps;
    this.options = options;
  }

  /** @throws LocalError before anything is sent, if the state cannot be read */
  async run(wanted: readonly Wanted[]): Promise<readonly CreateOutcome[]> {
    let view = await this.readLog();
    try {
      for (let left = wanted; left.length > 0; ) {
        await this.createAll(left, view);
        left = await this.waitForOthers();
        if (left.length > 0) view = await this.readLog();
      }
    } catch (error) {
      if (!(error instanceof PartnerctlError)) throw error;
      this.fail(wanted, error);
    }
    return wanted.map(({ index, key }) => this.outcomes.get(index) ?? { key, status: 'skipped' });
  }

  private async readLog(): Promise<LogView> {
    const { log, origin } = this.deps;
    const records = await log.read();
    const all = standings(records, JOBS);
    return { all, recorded: recordedIds(records, origin), open: openReservations(all, origin) };
  }

  private settle({ index }: Wanted, outcome: CreateOutcome): void {
    this.outcomes.set(index, outcome);
    this.options.onOutcome?.(index, outcome);
  }

  private async createAll(wanted: readonly Wanted[], view: LogView): Promise<void> {
    const left = await this.decideAll(wanted, view, undefined);
    if (this.options.dryRun) {
      const planned = await this.decideByList(left, view);
      for (const each of planned) this.settle(each, { key: each.key, status: 'planned' });
      return;
    }
    if (left.length === 0) return;
    const { deps, stop } = this;
    // Not needed for a job that exists.
    const { createOnce } = await import('../state/once.ts');
    await createOnce({ ...deps, signal: AbortSignal.any([deps.signal, stop.signal]) }, JOBS, left, {
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
      settled: (each, result) => this.record(each, result),
    });
  }

  /** Decides about jobs. @param list undefined to decide by the log alone @returns those to create, or to read the list for */
  private async decideAll(
    wanted: readonly Wanted[],
    { all, recorded, open }: LogView,
    list: JobList | 'closed' | undefined,
  ): Promise<readonly Wanted[]> {
    const { ensure } = this.options;
    const left: Wanted[] = [];
    for (const each of wanted) {
      const standing = standingOf(all, each.key);
      const known = { ...each, standing, recorded, open, ensure, now: this.deps.clock.now() };
      const decision = decide(known, list);
      if (decision.kind === 'list') left.push(each);
      else if (decision.kind === 'create') left.push({ ...each, seen: decision.seen });
      else await this.carryOut(each, decision);
    }
    return left;
  }

  /** Reads the list for jobs, and decides. @returns those to create */
  private async decideByList(wanted: readonly Wanted[], view: LogView): Promise<readonly Wanted[]> {
    if (wanted.length === 0) return [];
    const list = await this.readList().catch((error: unknown) => {
      if (!(error instanceof PartnerctlError) || error instanceof InterruptedError) throw error;
      return error;
    });
    if (list instanceof PartnerctlError) {
      if (stopsRun(list)) this.stop.abort(list);
      // That a recorded job exists is known without the list.
      const unknown = await this.decideAll(wanted, view, 'closed');
      for (const each of unknown) this.settleFailed(each, list);
      return [];
    }
    const isListed = ({ job }: Wanted): boolean => {
      const { same, maybe } = list === 'closed' ? { same: [], maybe: [] } : findInList(list, job);
      return same.length + maybe.length > 0;
    };
    // A listed job may have been created since the log was read. Its reservation was in the log before.
    return await this.decideAll(wanted, wanted.some(isListed) ? await this.readLog() : view, list);
  }

  private async readList(): Promise<JobList | 'closed'> {
    const list = await this.deps.lists.recent();
    if (list.kind === 'read') return list;
    if (!this.isUnavailable) await this.deps.onUnavailable(list.reason);
    this.isUnavailable = true;
    return 'closed';
  }

  private async carryOut(wanted: Wanted, decision: Exclude<Decision, { kind: 'create' | 'list' }>): Promise<void> {
    const { log, origin, clock } = this.deps;
    const { key, job } = wanted;
    const { dryRun } = this.options;
    if (decision.kind === 'settled') this.settle(wanted, decision.outcome);
    else if (decision.kind === 'adopt') {
      const { listed, outcome } = decision;
      const { instructions, schedule } = listed;
      const data = toJobData({ ...job, origin }, { instructions, schedule: completeSchedule(schedule) });
      if (!dryRun) await log.append([log.newRecord('cron.created', { key, object: listed.cron_job_id, data })]);
      this.settle(wanted, outcome);
    } else if (dryRun) this.settle(wanted, outcomeOfReserved(key, decision.reservation, clock.now()));
    else this.taken.set(wanted, decision.reservation);
  }

  /** Waits for the jobs that others are creating. @returns those to decide about again */
  private async waitForOthers(): Promise<readonly Wanted[]> {
    const { deps } = this;
    const taken = new Map(this.taken);
    this.taken.clear();
    const ids = new Set([...taken.values()].flatMap((reservation) => reservation?.id ?? []));
    if (ids.size === 0) return [...taken.keys()];
    const open = await waitOutLeases(deps, JOBS, ids, { skipUnknown: true, onWait: deps.onWait });
    return [...taken].flatMap(([wanted, reservation]) => {
      const stillOpen = open.find(({ id }) => id === reservation?.id);
      if (!stillOpen) return [wanted];
      this.settle(wanted, { key: wanted.key, status: 'unknown', since: stillOpen.at });
      return [];
    });
  }

  /** Gives an outcome to the jobs that have none, because of an error after which nothing was sent for them. */
  private fail(wanted: readonly Wanted[], error: PartnerctlError): void {
    let isTold = this.stop.signal.aborted;
    for (const each of wanted.filter(({ index }) => !this.outcomes.has(index))) {
      if (isTold) this.settle(each, { key: each.key, status: 'skipped' });
      else this.settleFailed(each, error);
      isTold = true;
    }
  }

  private settleFailed(wanted: Wanted, error: PartnerctlError, isBlocked = false): void {
    const { key } = wanted;
    const isSkipped = !isBlocked && error instanceof InterruptedError;
    this.settle(wanted, isSkipped ? { key, status: 'skipped' } : { key, status: 'failed', error, isBlocked });
  }

  private async record(wanted: Wanted, result: Result<JobData>): Promise<void> {
    const { key } = wanted;
    switch (result.kind) {
      case 'created':
        return this.settle(wanted, { key, status: 'created', cron_job_id: result.id, unrecorded: result.unrecorded });
      case 'failed':
        return this.settleFailed(wanted, result.error, result.unrecorded !== undefined);
      case 'taken':
        this.taken.set(wanted, undefined);
        return;
      case 'unknown': {
        const { error, reservation } = result;
        const { findLostJob } = await import('./reconcile.ts');
        const found = await findLostJob(this.deps, reservation, error);
        this.settle(wanted, found ?? { key, status: 'unknown', since: reservation.at, error });
      }
    }
  }
}

/**
 * Creates jobs, each at most once (spec §4.5: the POST is not idempotent). The jobs must have different keys.
 * @returns an outcome for each job, in order, including failures
 * @throws LocalError before anything is sent, if the state cannot be read
 */
export function createJobs(
  deps: CreateDeps,
  jobs: readonly CronJob[],
  options: CreateOptions,
): Promise<readonly CreateOutcome[]> {
  const { origin } = deps;
  const wanted = jobs.map((job, index): Wanted => {
    const data = toJobData({ ...job, origin }, job);
    return { index, job, key: cronKey(data), data };
  });
  return new CreateRun(deps, options).run(wanted);
}
