import type { InTurn } from '../api/take-turns.ts';
import { startStopwatch } from '../clock.ts';
import { LateTurn, requestTime } from '../state/late-turn.ts';
import { type KeyState, type OnceDeps, type OnceResult, readKey, runOnce } from '../state/once.ts';
import { keyHistories, stampRecord } from '../state/once-records.ts';
import { LONGEST_RESERVATION_MS } from '../state/owner-watch.ts';
import { type CronDifference, type CronJob, cronKey, findDifferences, toNfc } from './job.ts';
import type { JobLedger } from './job-ledger.ts';
import type { FindJob, FoundJobs } from './job-list.ts';
import {
  hasOtherContent,
  type JobSnapshot,
  listedSnapshot,
  type RecordedJob,
  recordedIds,
  toJobSnapshot,
} from './job-records.ts';
import { type ListedJob, matchContent } from './listed-job.ts';
import type { CronSchedule } from './schedule.ts';

/** What `createOnce` needs. */
export interface CronDeps extends OnceDeps<JobSnapshot> {
  /** The base URL of the service. */
  readonly origin: string;
  readonly ledger: JobLedger;
  /** `normalizeSchedule`, for many jobs that share few schedules. */
  readonly normalize?: (schedule: CronSchedule) => string;
  /** Looks for a job in the service's list. @throws PartnerctlError when reading the list may succeed later */
  readonly find: FindJob;
  /**
   * Sends the POST once, and sends nothing after `timeoutMs`.
   * @throws OutcomeUnknownError if a job may have been created; any other PartnerctlError proves that none was
   */
  readonly post: (job: CronJob, timeoutMs: number) => Promise<string>;
  /** Bounds how many jobs are sent at once: more may be reserved. */
  readonly inTurn: InTurn;
  /** Milliseconds that the command may still take. */
  readonly remainingMs: () => number;
  /** Called before the list is read again. @param ms in how many milliseconds */
  readonly onWait?: (ms: number) => void;
  /** Aborts waiting for another process. */
  readonly abortSignal: AbortSignal;
}

interface KeyedOutcome {
  readonly key: string;
}

/** The outcome of creating a job. */
export type CreateOutcome =
  | (KeyedOutcome & {
      readonly status: 'created';
      readonly cron_job_id: string;
      /** Set if the job exists but could not be recorded in the state file: why, and where the record is kept instead. */
      readonly unrecorded?: { readonly error: unknown; readonly recoveryPath: string | undefined };
    })
  /** The same job exists already; `since` is when it was recorded. */
  | (KeyedOutcome & { readonly status: 'exists'; readonly cron_job_id: string; readonly since: string })
  /** The service already had the job, but the state file had no record of it. */
  | (KeyedOutcome & { readonly status: 'adopted'; readonly cron_job_id: string })
  | (KeyedOutcome & Blocked)
  /** The job may have been created; `error` is the failure of this command's POST, if it sent one. */
  | (KeyedOutcome & { readonly status: 'unknown'; readonly since: string; readonly error?: unknown })
  /** The job was not created. */
  | (KeyedOutcome & { readonly status: 'failed'; readonly error: unknown; readonly isReleased: boolean })
  | (KeyedOutcome & { readonly status: 'planned' });

export interface Blocked {
  readonly status: 'blocked';
  readonly cron_job_id: string | null;
  readonly since?: string;
  /**
   * `same`: it exists. `different`: it exists with other content. `gone`: it was created, and the service no longer lists
   * it. `several`: the service has more than one with this agent and name. `in_progress`: another process is creating it.
   * `ambiguous`: the service has one with this name and content but does not return its agent, and the state file has no
   * record of it.
   */
  readonly why: 'same' | 'different' | 'gone' | 'several' | 'in_progress' | 'ambiguous';
  readonly differences?: readonly CronDifference[];
  readonly candidates?: readonly string[];
}

/** How much longer a reservation lasts than its POST may take: an interrupted call takes some seconds to end. */
const DEADLINE_MARGIN_MS = 10_000;
/** The time limit of a POST, even if the command may take longer: other processes wait for its outcome. */
const MAX_POST_MS = LONGEST_RESERVATION_MS - DEADLINE_MARGIN_MS;
const POLL_MS = 200;
/** How long a service may take to list a new job. */
export const LISTED_WITHIN_MS = 60_000;

/** How long this process itself must see a job missing from the list until the job counts as gone. */
const MISSING_FOR_MS = 10_000;

export interface CreateOnceOptions {
  /** Whether an existing job counts as success. If so, waits for a job that another process is creating. */
  readonly ensure: boolean;
  /** Whether to skip all writes, both to the state file and to the service, and all waits for other processes. */
  readonly dryRun: boolean;
}

interface Request extends CreateOnceOptions {
  readonly job: CronJob;
  readonly key: string;
  readonly snapshot: JobSnapshot;
  readonly deps: CronDeps;
}

async function readState({ key, snapshot, deps }: Request): Promise<KeyState<JobSnapshot>> {
  const state = await readKey(key, deps);
  deps.ledger.refuseBlocked('newer', snapshot);
  return state;
}

/**
 * Whether the service no longer lists a recorded job; false if the list cannot be read. The time of the record may be
 * wrong, so this process itself must see the job missing for a while. A dry run looks once.
 */
async function isGone({ job, deps, dryRun }: Request, { remoteId, at }: RecordedJob): Promise<boolean> {
  const { clock, find, abortSignal, onWait } = deps;
  if (clock.now() < Date.parse(at) + LISTED_WITHIN_MS) return false;
  const first = await find(job);
  // By id: the job still exists if it was renamed.
  if (first.kind === 'closed' || first.isListed(remoteId)) return false;
  if (dryRun) return true;
  const until = first.at + MISSING_FOR_MS;
  onWait?.(until - clock.monotonic());
  while (clock.monotonic() < until) await clock.sleep(until - clock.monotonic(), abortSignal);
  const second = await find(job);
  return second.kind === 'read' && second.at >= until && !second.isListed(remoteId);
}

async function outcomeOfExisting(
  request: Request,
  objects: readonly RecordedJob[],
): Promise<CreateOutcome | undefined> {
  const { job, key, snapshot, ensure } = request;
  const recorded = objects.findLast((each) => !hasOtherContent(each.snapshot, snapshot)) ?? objects.at(-1);
  if (!recorded) return undefined;
  const base = { key, cron_job_id: recorded.remoteId, since: recorded.at };
  if (hasOtherContent(recorded.snapshot, snapshot)) {
    const { schedule, instructions_hash } = recorded.snapshot;
    const before = { schedule: schedule ?? undefined, instructions_hash: instructions_hash ?? undefined };
    return { ...base, status: 'blocked', why: 'different', differences: findDifferences(before, job) };
  }
  if (!ensure) return { ...base, status: 'blocked', why: 'same' };
  if (await isGone(request, recorded)) return { ...base, status: 'blocked', why: 'gone' };
  return { ...base, status: 'exists' };
}

async function outcomeFromLog(request: Request): Promise<CreateOutcome | 'wait' | undefined> {
  const { key, ensure, dryRun } = request;
  const { objects, open } = await readState(request);
  const existing = await outcomeOfExisting(request, objects);
  if (existing) return existing;
  const [first] = open;
  if (!first) return undefined;
  const since = first.reservation.at;
  if (first.isAbandoned) return { status: 'unknown', key, since };
  return ensure && !dryRun ? 'wait' : { status: 'blocked', key, why: 'in_progress', cron_job_id: null, since };
}

/** Adopts a listed job with this agent and name that has no record in the state file, instead of creating it again. */
async function outcomeFromList(request: Request, same: readonly ListedJob[]): Promise<CreateOutcome | undefined> {
  const { job, key, deps, dryRun } = request;
  const [listed, ...others] = same;
  if (!listed) return undefined;
  const base = { key, cron_job_id: listed.cron_job_id };
  const candidates = same.map(({ cron_job_id }) => cron_job_id);
  if (others.length > 0) return { key, status: 'blocked', why: 'several', cron_job_id: null, candidates };
  if (!dryRun) {
    await deps.ledger.append({
      kind: 'adopted',
      ...stampRecord(deps),
      key,
      snapshot: listedSnapshot(request.snapshot, listed),
      reservation: null,
      remoteId: listed.cron_job_id,
    });
  }
  if (matchContent(listed, job) !== 'different') return { ...base, status: 'adopted' };
  const before = { schedule: listed.schedule, instructions: listed.instructions };
  return { ...base, status: 'blocked', why: 'different', differences: findDifferences(before, job) };
}

/**
 * Blocks the job if the service returns no agents and lists a job with the same name and content that has no record in the
 * state file: it may be this job, created before the state file was lost.
 */
async function ambiguousOutcome(request: Request, maybe: readonly ListedJob[]): Promise<CreateOutcome | undefined> {
  const { job, key, deps } = request;
  const { origin } = deps;
  const similar = maybe.filter((each) => each.name !== undefined && matchContent(each, job) !== 'different');
  if (similar.length === 0) return undefined;
  const histories = [...keyHistories(await deps.ledger.readAll()).values()];
  const recorded = recordedIds(
    histories.flatMap(({ objects }) => objects),
    origin,
  );
  const candidates = similar.map(({ cron_job_id }) => cron_job_id).filter((id) => !recorded.has(id));
  // A job of another agent whose response was lost exists without a record, and accounts for one candidate.
  const reserved = histories.flatMap(({ open }) => open.map(({ reservation }) => reservation.snapshot));
  const rivals = reserved.filter((other) => other.origin === origin && toNfc(other.name) === toNfc(job.name));
  if (candidates.length <= rivals.length) return undefined;
  return { status: 'blocked', key, why: 'ambiguous', cron_job_id: null, candidates };
}

async function reserveAndPost(request: Request, found: FoundJobs): Promise<OnceResult<'not_first'>> {
  const { job, key, snapshot, deps } = request;
  const { clock } = deps;
  const elapsed = startStopwatch(clock);
  const limitMs = Math.min(deps.remainingMs(), MAX_POST_MS);
  const item = {
    key,
    snapshot,
    deadline: new Date(clock.now() + limitMs + DEADLINE_MARGIN_MS).toISOString(),
    remoteIdsSeen: found.kind === 'read' ? found.maybe.map(({ cron_job_id }) => cron_job_id) : null,
  };
  const task = {
    describe: async () => item,
    objection({ objects, open }: KeyState<JobSnapshot>, reservationId: string | undefined) {
      deps.ledger.refuseBlocked('newer', snapshot);
      deps.ledger.refuseBlocked('damaged', snapshot);
      const isFirst = open[0]?.reservation.id === reservationId;
      return objects.length > 0 || (open.length > 0 && !isFirst) ? ('not_first' as const) : undefined;
    },
  };
  return await runOnce(task, deps, async (commit) => {
    await commit();
    // If the machine slept in the meantime, another process may have settled the reservation.
    return await deps.inTurn(() => deps.post(job, requestTime(limitMs - elapsed(), limitMs, 'the job was sent')));
  });
}

function toCreateOutcome(key: string, result: Exclude<OnceResult<unknown>, { kind: 'refused' }>): CreateOutcome {
  switch (result.kind) {
    case 'created': {
      const { remoteId: cron_job_id, unrecorded } = result;
      return { status: 'created', key, cron_job_id, ...(unrecorded && { unrecorded }) };
    }
    case 'failed':
      return { status: 'failed', key, error: result.error, isReleased: result.isReleased };
    case 'unknown':
      return { status: 'unknown', key, since: result.since, error: result.error };
  }
}

/** @returns undefined if other processes changed the log in the meantime, so that it has to be read again */
async function tryCreate(request: Request): Promise<CreateOutcome | undefined> {
  const { job, key, snapshot, deps, dryRun } = request;
  const found = await deps.find(job);
  const { same, maybe } = found.kind === 'read' ? found : { same: [], maybe: [] };
  // A listed job may be one that another process has reserved and created since the log was read.
  if (same.length > 0) {
    const { objects, open } = await readState(request);
    if (objects.length + open.length > 0) return undefined;
  }
  const listed = (await outcomeFromList(request, same)) ?? (await ambiguousOutcome(request, maybe));
  if (listed) return listed;
  deps.ledger.refuseBlocked('damaged', snapshot);
  if (dryRun) return { status: 'planned', key };
  const result = await reserveAndPost(request, found);
  const isLate = result.kind === 'failed' && result.isReleased && result.error instanceof LateTurn;
  if (isLate && deps.remainingMs() > 0) return undefined;
  if (result.kind !== 'refused') return toCreateOutcome(key, result);
  // This run's reservation is still open: trying again would wait for it.
  if (result.releaseError) throw result.releaseError;
  return undefined;
}

/**
 * Creates a job unless it exists, or may exist (spec §4.5: the POST is not idempotent). The order of records in the
 * state file decides: the process with the first reservation sends the POST; the others find the job created or in
 * progress.
 * @returns the outcome, including that of a POST that provably created nothing
 * @throws LocalError before anything is sent, if the state file cannot be read or written; PartnerctlError if the list
 *   of jobs cannot be read now
 */
export async function createOnce(job: CronJob, deps: CronDeps, options: CreateOnceOptions): Promise<CreateOutcome> {
  const key = cronKey(deps.origin, job.agent_id, job.name);
  const request = { ...options, job, key, snapshot: toJobSnapshot(deps.origin, job, deps.normalize), deps };
  for (;;) {
    const recorded = await outcomeFromLog(request);
    if (recorded === 'wait') {
      await deps.clock.sleep(POLL_MS, deps.abortSignal);
      continue;
    }
    const outcome = recorded ?? (await tryCreate(request));
    if (outcome) return outcome;
  }
}
