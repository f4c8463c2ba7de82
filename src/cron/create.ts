import { RunStopped, stopsRun } from '../api/call-errors.ts';
import { InterruptedError, PartnerctlError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { outlive } from '../state/lease.ts';
import type { Log } from '../state/log.ts';
import { createOnce, type Item, type Result, type SendOptions } from '../state/once.ts';
import type { LogRecord } from '../state/record.ts';
import { standingOf, standings } from '../state/standing.ts';
import { type Decision, decide, decideByLog, type Knowledge, outcomeOfReserved } from './decide.ts';
import { type CronJob, cronKey } from './job.ts';
import type { CreateOutcome } from './outcomes.ts';
import { lookUp } from './reconcile.ts';
import {
  JOBS,
  type JobData,
  type JobReservation,
  type JobStanding,
  listedData,
  recordedIds,
  toJobData,
} from './recorded-job.ts';
import { type FoundJobs, findInList, type JobLists } from './service-jobs.ts';

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
  /** Called before a wait, with its length in milliseconds. */
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
}

class CreateRun {
  private readonly deps: CreateDeps;
  private readonly options: CreateOptions;
  private readonly outcomes = new Map<number, CreateOutcome>();
  /** The jobs that another process may be creating. */
  private waiting = new Map<Wanted, JobReservation>();
  /** The jobs that another process reserved first. */
  private lost: Wanted[] = [];
  private isClosed = false;
  private stopped: { readonly error: PartnerctlError } | undefined;

  constructor(deps: CreateDeps, options: CreateOptions) {
    this.deps = deps;
    this.options = options;
  }

  async readLog(): Promise<LogView> {
    const records: readonly LogRecord[] = await this.deps.log.read();
    return { all: standings(records, JOBS), recorded: recordedIds(records, this.deps.origin) };
  }

  settle({ index }: Wanted, outcome: CreateOutcome): void {
    this.outcomes.set(index, outcome);
    this.options.onOutcome?.(index, outcome);
  }

  /** The outcomes, in order; `skipped` where there is none. */
  result(wanted: readonly Wanted[]): readonly CreateOutcome[] {
    return wanted.map(({ index, key }) => this.outcomes.get(index) ?? { key, status: 'skipped' });
  }

  /** Settles the jobs about which the log says enough. @returns the others */
  async settleByLog(wanted: readonly Wanted[], view: LogView): Promise<readonly Wanted[]> {
    const left: Wanted[] = [];
    for (const each of wanted) {
      const decision = decideByLog(this.known(each, view));
      if (decision.kind === 'list') left.push(each);
      else await this.carryOut(each, decision);
    }
    return left;
  }

  /** Reads the list for jobs, and decides. @returns those to create */
  async decideByList(wanted: readonly Wanted[], view: LogView): Promise<readonly Wanted[]> {
    const found = new Map<Wanted, FoundJobs>();
    for (const each of wanted) {
      try {
        found.set(each, await this.find(each));
      } catch (error) {
        if (!(error instanceof PartnerctlError)) throw error;
        await this.settleUnlisted(each, view, error);
      }
    }
    const mayBeKnown = [...found.values()].some(
      (each) => each.kind === 'read' && each.same.length + each.maybe.length > 0,
    );
    // A listed job may have been created since the log was read. Its reservation was in the log before.
    const fresh = mayBeKnown ? await this.readLog() : view;
    const create: Wanted[] = [];
    for (const [each, listed] of found) {
      const decision = decide(this.known(each, fresh), listed);
      if (decision.kind === 'create') create.push({ ...each, seen: decision.seen });
      else await this.carryOut(each, decision);
    }
    return create;
  }

  /** Creates jobs. Afterwards each has an outcome, waits, or is lost. @throws as `createOnce` */
  async create(wanted: readonly Wanted[], view: LogView): Promise<void> {
    await createOnce(this.deps, JOBS, wanted, {
      prepare: async (batch) => {
        if (!this.stopped) return await this.decideByList(batch, view);
        for (const each of batch) this.settle(each, { key: each.key, status: 'skipped' });
        return [];
      },
      act: async ({ job }, options) => {
        if (this.stopped) throw new RunStopped(this.stopped.error);
        return await this.deps.post(job, options).catch((error: unknown) => {
          // Before the release is recorded: that may take a second, in which others would be sent.
          if (stopsRun(error)) this.stopped ??= { error };
          throw error;
        });
      },
      settled: (each, result) => this.record(each, result),
    });
  }

  /** Waits for the jobs that others are creating. @returns those to decide about again */
  async waitForOthers(): Promise<readonly Wanted[]> {
    const { waiting, lost, deps } = this;
    this.lost = [];
    this.waiting = new Map();
    if (waiting.size === 0) return lost;
    const ids = new Set([...waiting.values()].map(({ id }) => id));
    const isAwaited = ({ isUnknown }: JobReservation): boolean => !isUnknown;
    const open = await outlive(deps, JOBS, ids, { isAwaited, onWait: deps.onWait });
    const stillOpen = new Map(open.map((each) => [each.id, each]));
    const ended = [...waiting].flatMap(([wanted, { id }]) => {
      const reservation = stillOpen.get(id);
      if (!reservation) return [wanted];
      this.settle(wanted, { key: wanted.key, status: 'unknown', since: reservation.at });
      return [];
    });
    return [...lost, ...ended];
  }

  /** Gives an outcome to the jobs that have none, because of an error after which nothing was sent for them. */
  fail(wanted: readonly Wanted[], error: PartnerctlError): void {
    const [first, ...rest] = wanted.filter(({ index }) => !this.outcomes.has(index));
    if (!first) return;
    const { key } = first;
    const isSkipped = error instanceof InterruptedError;
    this.settle(first, isSkipped ? { key, status: 'skipped' } : { key, status: 'failed', error, isBlocked: false });
    for (const each of rest) this.settle(each, { key: each.key, status: 'skipped' });
  }

  private known({ job, key }: Wanted, { all, recorded }: LogView): Knowledge {
    const { origin, clock } = this.deps;
    const open = [...all.values()].flatMap((standing) => standing.open);
    const rivals = open.filter((other) => other.data.origin === origin && other.key !== key);
    const { ensure } = this.options;
    return { origin, job, key, standing: standingOf(all, key), recorded, rivals, ensure, now: clock.now() };
  }

  private async find({ job }: Wanted): Promise<FoundJobs> {
    const list = await this.deps.lists.recent();
    if (list.kind === 'closed' && !this.isClosed) {
      this.isClosed = true;
      await this.deps.onUnavailable(list.reason);
    }
    return findInList(list, job);
  }

  private async carryOut(wanted: Wanted, decision: Exclude<Decision, { kind: 'create' }>): Promise<void> {
    if (decision.kind === 'adopt') return await this.adopt(wanted, decision);
    if (decision.kind === 'settled') return this.settle(wanted, decision.outcome);
    const { reservation } = decision;
    if (!this.options.dryRun) this.waiting.set(wanted, reservation);
    else this.settle(wanted, outcomeOfReserved(wanted.key, reservation, this.deps.clock.now()));
  }

  private async adopt(wanted: Wanted, { listed, outcome }: Extract<Decision, { kind: 'adopt' }>): Promise<void> {
    const { log, origin } = this.deps;
    const { agent_id, name } = wanted.job;
    if (!this.options.dryRun) {
      const fields = {
        key: wanted.key,
        object: listed.cron_job_id,
        data: listedData({ origin, agent_id, name }, listed),
      };
      await log.append([log.newRecord('cron.created', fields)]);
    }
    this.settle(wanted, outcome);
  }

  /** That a recorded job exists is known without the list. */
  private async settleUnlisted(wanted: Wanted, view: LogView, error: PartnerctlError): Promise<void> {
    if (standingOf(view.all, wanted.key).objects.length > 0 && !(error instanceof InterruptedError)) {
      const decision = decide(this.known(wanted, view), { kind: 'closed' });
      if (decision.kind !== 'create') await this.carryOut(wanted, decision);
      return;
    }
    if (stopsRun(error)) this.stopped ??= { error };
    if (error instanceof InterruptedError) throw error;
    this.settle(wanted, { key: wanted.key, status: 'failed', error, isBlocked: false });
  }

  private async record(wanted: Wanted, result: Result<JobData>): Promise<void> {
    const { key } = wanted;
    switch (result.kind) {
      case 'created': {
        const { id: cron_job_id, unrecorded } = result;
        this.settle(wanted, { key, status: 'created', cron_job_id, ...(unrecorded !== undefined && { unrecorded }) });
        return;
      }
      case 'failed': {
        const { error, unreleased } = result;
        const isBlocked = unreleased !== undefined;
        const isSkipped = !isBlocked && (error instanceof RunStopped || error instanceof InterruptedError);
        this.settle(wanted, isSkipped ? { key, status: 'skipped' } : { key, status: 'failed', error, isBlocked });
        return;
      }
      case 'lost':
        this.lost.push(wanted);
        return;
      case 'unknown': {
        const { error, reservation } = result;
        const found = await lookUp(this.deps, reservation, error);
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
export async function createJobs(
  deps: CreateDeps,
  jobs: readonly CronJob[],
  options: CreateOptions,
): Promise<readonly CreateOutcome[]> {
  const { origin } = deps;
  const wanted = jobs.map((job, index): Wanted => {
    return { index, job, key: cronKey(origin, job.agent_id, job.name), data: toJobData(origin, job) };
  });
  const run = new CreateRun(deps, options);
  let view = await run.readLog();
  try {
    for (let left: readonly Wanted[] = wanted; left.length > 0; ) {
      const list = await run.settleByLog(left, view);
      if (options.dryRun) {
        for (const each of await run.decideByList(list, view)) run.settle(each, { key: each.key, status: 'planned' });
      } else {
        await run.create(list, view);
      }
      left = await run.waitForOthers();
      if (left.length > 0) view = await run.readLog();
    }
  } catch (error) {
    if (!(error instanceof PartnerctlError)) throw error;
    run.fail(wanted, error);
  }
  return run.result(wanted);
}
