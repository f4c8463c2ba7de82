import type { ListedCronJob } from '../contract/cron.ts';
import { LEASE_MS } from '../state/lease.ts';
import type { JobReservation, JobStanding, RecordedJob } from './job.ts';
import { type CronJob, findDifferences, hasOtherContent, type JobData, toNfc } from './job.ts';
import type { CreateOutcome } from './outcomes.ts';
import { completeSchedule } from './schedule.ts';
import { findInList, type JobList } from './service-jobs.ts';

/*
 * Decides what it means for the creation of a job that the state or the service's list has one like it. Pure: the same
 * decision serves `cron create`, `provision`, and their plans.
 */

/** How long a service may take to list a new job. */
export const LISTED_WITHIN_MS = 60_000;

/** What is known about a job to create. */
export interface Knowledge {
  readonly job: CronJob;
  readonly key: string;
  /** What the state would record of it. */
  readonly data: JobData;
  readonly standing: JobStanding;
  /** The ids of all jobs of this service that the state has ever recorded. */
  readonly recorded: ReadonlySet<string>;
  /** The open reservations of this service, of all keys. */
  readonly open: readonly JobReservation[];
  /** Whether an existing job counts as success. */
  readonly ensure: boolean;
  /** Milliseconds since the epoch. Chooses words, never whether to send. */
  readonly now: number;
}

type Settled = { readonly kind: 'settled'; readonly outcome: CreateOutcome };

export type Decision =
  | Settled
  /** Another process may be creating it. */
  | { readonly kind: 'wait'; readonly reservation: JobReservation }
  /** The service's list has to be read before anything can be said. */
  | { readonly kind: 'list' }
  /** The service has it, and the state does not know it. `outcome` is what to report once it is recorded. */
  | { readonly kind: 'adopt'; readonly listed: ListedCronJob; readonly outcome: CreateOutcome }
  /** `seen`: the ids in the list that could be mistaken for it; undefined if the list cannot be read. */
  | { readonly kind: 'create'; readonly seen: readonly string[] | undefined };

function settled(outcome: CreateOutcome): Settled {
  return { kind: 'settled', outcome };
}

function decideRecorded(known: Knowledge, recorded: RecordedJob, list: JobList | 'closed' | undefined): Decision {
  const { job, key, ensure, now } = known;
  const base = { key, cron_job_id: recorded.object };
  if (hasOtherContent(recorded.data, known.data)) {
    const differences = findDifferences(recorded.data, job);
    return settled({ ...base, status: 'blocked', why: 'different', differences });
  }
  // A service may take a while to list a new job.
  const mayBeGone = ensure && now >= Date.parse(recorded.at) + LISTED_WITHIN_MS;
  const isUnknown = recorded.data.schedule === null;
  if (!list && (mayBeGone || isUnknown)) return { kind: 'list' };
  const jobs = typeof list === 'object' ? list.jobs : undefined;
  // Compares ids: a renamed job still exists.
  if (mayBeGone && jobs?.has(recorded.object) === false) return settled({ ...base, status: 'blocked', why: 'gone' });
  const listed = isUnknown ? jobs?.get(recorded.object) : undefined;
  const differences = listed ? findDifferences(listed, job) : [];
  if (differences.length > 0) return settled({ ...base, status: 'blocked', why: 'different', differences });
  const isScheduleUnknown = isUnknown && !completeSchedule(listed?.schedule);
  if (ensure) return settled({ ...base, status: 'exists', isScheduleUnknown });
  return settled({ ...base, status: 'blocked', why: 'same', isScheduleUnknown });
}

/** Ids of listed jobs with this name whose agent is not shown, and which no record or open reservation accounts for. */
function unexplained({ job, key, recorded, open }: Knowledge, maybe: readonly ListedCronJob[]): readonly string[] {
  const ids = maybe.map(({ cron_job_id }) => cron_job_id).filter((id) => !recorded.has(id));
  // A job of another agent whose response was lost exists without a record, and accounts for one of them.
  const lost = open.filter((other) => other.key !== key && toNfc(other.data.name) === toNfc(job.name));
  return ids.length > lost.length ? ids : [];
}

function decideListed(known: Knowledge, list: JobList): Decision {
  const { job, key } = known;
  const { same, maybe } = findInList(list, job);
  const blocked = { key, status: 'blocked', cron_job_id: null } as const;
  const [listed, ...others] = same;
  if (others.length > 0) {
    return settled({ ...blocked, why: 'several', candidates: same.map(({ cron_job_id }) => cron_job_id) });
  }
  if (listed) {
    const { cron_job_id } = listed;
    const differences = findDifferences(listed, job);
    const isScheduleUnknown = !completeSchedule(listed.schedule);
    const outcome: CreateOutcome =
      differences.length > 0
        ? { ...blocked, cron_job_id, why: 'different', differences }
        : { key, status: 'adopted', cron_job_id, isScheduleUnknown };
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
  return { key, status: 'blocked', why: 'in_progress', cron_job_id: null };
}

/** Decides what to do about a job. @param list undefined if it has not been read yet */
export function decide(known: Knowledge, list: JobList | 'closed' | undefined): Decision {
  const { key, data, standing, ensure, now } = known;
  const recorded = standing.objects.findLast((each) => !hasOtherContent(each.data, data)) ?? standing.objects.at(-1);
  if (recorded) return decideRecorded(known, recorded, list);
  const [first] = standing.open;
  if (first && ensure && !first.isUnknown) return { kind: 'wait', reservation: first };
  if (first) return settled(outcomeOfReserved(key, first, now));
  if (!list) return { kind: 'list' };
  return list === 'closed' ? { kind: 'create', seen: undefined } : decideListed(known, list);
}
