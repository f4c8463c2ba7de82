import { LEASE_MS } from '../state/lease.ts';
import { type CronJob, findDifferences, toNfc } from './job.ts';
import { findScheduleGap, type ListedJob, matchContent, type ScheduleGap } from './listed-job.ts';
import type { Blocked, CreateOutcome } from './outcomes.ts';
import { hasOtherContent, type JobReservation, type JobStanding, type RecordedJob, toJobData } from './recorded-job.ts';
import type { FoundJobs } from './service-jobs.ts';

/*
 * Decides what it means for the creation of a job that the state or the service's list has one like it. Pure: the same
 * decision serves `cron create`, `provision`, and their plans.
 */

/** How long a service may take to list a new job. */
export const LISTED_WITHIN_MS = 60_000;

/** What is known about a job to create. */
export interface Knowledge {
  readonly origin: string;
  readonly job: CronJob;
  readonly key: string;
  readonly standing: JobStanding;
  /** The ids of all jobs of this service that the state records. */
  readonly recorded: ReadonlySet<string>;
  /** The open reservations of other keys. */
  readonly rivals: readonly JobReservation[];
  /** Whether an existing job counts as success. */
  readonly ensure: boolean;
  /** Milliseconds since the epoch. Chooses words, never whether to send. */
  readonly now: number;
}

/** `settled`: nothing is to be done. `wait`: another process may be creating it. */
type Settled =
  | { readonly kind: 'settled'; readonly outcome: CreateOutcome }
  | { readonly kind: 'wait'; readonly reservation: JobReservation };

export type Decision =
  | Settled
  /** The service has it, and the state does not know it. `outcome` is what to report once it is recorded. */
  | { readonly kind: 'adopt'; readonly listed: ListedJob; readonly outcome: CreateOutcome }
  /** `seen`: the ids in the list that could be mistaken for it; undefined if the list cannot be read. */
  | { readonly kind: 'create'; readonly seen: readonly string[] | undefined };

function settled(outcome: CreateOutcome): Settled {
  return { kind: 'settled', outcome };
}

function different({ job, key }: Knowledge, listed: ListedJob): Blocked {
  const differences = findDifferences(listed, job);
  return { key, status: 'blocked', why: 'different', cron_job_id: listed.cron_job_id, differences };
}

function decideRecorded(
  known: Knowledge,
  last: RecordedJob,
  found: FoundJobs | undefined,
): Settled | { readonly kind: 'list' } {
  const { origin, job, key, standing, ensure, now } = known;
  const wanted = toJobData(origin, job);
  const recorded = standing.objects.findLast(({ data }) => !hasOtherContent(data, wanted)) ?? last;
  const base = { key, cron_job_id: recorded.object, since: recorded.at };
  const { schedule, instructions_hash } = recorded.data;
  if (hasOtherContent(recorded.data, wanted)) {
    const before = { schedule: schedule ?? undefined, instructions_hash: instructions_hash ?? undefined };
    const differences = findDifferences(before, job);
    return settled({ ...base, status: 'blocked', why: 'different', differences });
  }
  // A service may take a while to list a new job.
  const mayBeGone = ensure && now >= Date.parse(recorded.at) + LISTED_WITHIN_MS;
  if (!found && (mayBeGone || schedule === null)) return { kind: 'list' };
  const jobs = found?.kind === 'read' ? found.jobs : undefined;
  // Compares ids: a renamed job still exists.
  if (mayBeGone && jobs?.has(recorded.object) === false) return settled({ ...base, status: 'blocked', why: 'gone' });
  const listed = schedule === null ? jobs?.get(recorded.object) : undefined;
  if (listed && matchContent(listed, job) === 'different') return settled({ ...base, ...different(known, listed) });
  const unlisted: ScheduleGap | undefined = schedule === null ? { kind: 'unlisted' } : undefined;
  const gap = listed ? findScheduleGap(listed) : unlisted;
  return settled(ensure ? { ...base, status: 'exists', gap } : { ...base, status: 'blocked', why: 'same', gap });
}

/** Ids of listed jobs with this name whose agent is not shown, and which no record or open reservation accounts for. */
function unexplained({ job, recorded, rivals }: Knowledge, maybe: readonly ListedJob[]): readonly string[] {
  const named = maybe.filter(({ name, cron_job_id }) => name !== undefined && !recorded.has(cron_job_id));
  // A job of another agent whose response was lost exists without a record, and accounts for one of them.
  const lost = rivals.filter(({ data }) => toNfc(data.name) === toNfc(job.name));
  return named.length > lost.length ? named.map(({ cron_job_id }) => cron_job_id) : [];
}

function decideListed(known: Knowledge, { same, maybe }: Extract<FoundJobs, { kind: 'read' }>): Decision {
  const { job, key } = known;
  const blocked = { key, status: 'blocked', cron_job_id: null } as const;
  const candidates = same.map(({ cron_job_id }) => cron_job_id);
  const [listed, ...others] = same;
  if (others.length > 0) return settled({ ...blocked, why: 'several', candidates });
  if (listed) {
    const adopted = { key, status: 'adopted', cron_job_id: listed.cron_job_id, gap: findScheduleGap(listed) } as const;
    const outcome = matchContent(listed, job) === 'different' ? different(known, listed) : adopted;
    return { kind: 'adopt', listed, outcome };
  }
  const unknown = unexplained(known, maybe);
  if (unknown.length > 0) return settled({ ...blocked, why: 'ambiguous', candidates: unknown });
  return { kind: 'create', seen: maybe.map(({ cron_job_id }) => cron_job_id) };
}

/** The outcome of a job that another process has reserved, if this one does not wait for it. */
export function outcomeOfReserved(key: string, { at, isUnknown }: JobReservation, now: number): CreateOutcome {
  // Its age chooses the words: whether it has ended is decided by watching it.
  const isOld = isUnknown || now >= Date.parse(at) + LEASE_MS;
  if (isOld) return { key, status: 'unknown', since: at };
  return { key, status: 'blocked', why: 'in_progress', cron_job_id: null, since: at };
}

/** Decides about a job as far as the log tells; `list` if the service's list has to be read before anything can be said. */
export function decideByLog(known: Knowledge, found?: FoundJobs): Settled | { readonly kind: 'list' } {
  const { key, standing, ensure, now } = known;
  const last = standing.objects.at(-1);
  if (last) return decideRecorded(known, last, found);
  const [first] = standing.open;
  if (!first) return { kind: 'list' };
  if (ensure && !first.isUnknown) return { kind: 'wait', reservation: first };
  return settled(outcomeOfReserved(key, first, now));
}

/** Decides what to do about a job. */
export function decide(known: Knowledge, found: FoundJobs): Decision {
  const decision = decideByLog(known, found);
  if (decision.kind !== 'list') return decision;
  return found.kind === 'closed' ? { kind: 'create', seen: undefined } : decideListed(known, found);
}
