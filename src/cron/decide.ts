import type { ListedCronJob } from '../contract/resources.ts';
import { InputError } from '../errors.ts';
import { LEASE_MS } from '../state/lease.ts';
import { standingOf } from '../state/standing.ts';
import {
  type CronJob,
  findDifferences,
  isNotShown,
  type JobReservation,
  type JobsInLog,
  NOT_SHOWN,
  type RecordedJob,
  toNfc,
} from './job.ts';
import { blocked, type JobOutcome, outcome, type Subject, unknown } from './outcomes.ts';
import { completeSchedule } from './schedule.ts';
import { findInList, type JobList } from './service-jobs.ts';

/*
 * Decides what it means for the creation of a job that the state or the service's list has one like it. Pure: the same
 * decision serves `cron create`, `provision`, and their plans.
 */

/** How long a service may take to list a new job. */
export const LISTED_WITHIN_MS = 60_000;

export interface Knowledge extends Subject, JobsInLog {
  readonly job: CronJob;
  /** Undefined if it has not been read yet; `closed` if it cannot be read. */
  readonly list: JobList | 'closed' | undefined;
  /** Whether an existing job counts as success. */
  readonly ensure: boolean;
  readonly canWait: boolean;
  /** Milliseconds since the epoch. Chooses words, never whether to send. */
  readonly now: number;
}

export type Decision =
  | { readonly kind: 'settled'; readonly outcome: JobOutcome }
  /** Another process may be creating it. */
  | { readonly kind: 'wait'; readonly reservation: JobReservation }
  /** The service's list has to be read before anything can be said. */
  | { readonly kind: 'list' }
  /** The service has it, and the state does not know it. `outcome` is what to report once it is recorded. */
  | { readonly kind: 'adopt'; readonly listed: ListedCronJob; readonly outcome: JobOutcome }
  /** `seen`: the ids in the list that could be mistaken for it; undefined if the list cannot be read. */
  | { readonly kind: 'create'; readonly seen: readonly string[] | undefined };

function block(...why: Parameters<typeof blocked>): Decision {
  return { kind: 'settled', outcome: blocked(...why) };
}

function decideRecorded(known: Knowledge, { object: cron_job_id, at, data }: RecordedJob): Decision {
  const { job, list, ensure, now } = known;
  const jobs = typeof list === 'object' ? list.jobs : undefined;
  const current = jobs?.get(cron_job_id);
  const isOther = findDifferences(data, job).length > 0;
  // A service may take a while to list a new job.
  const mayBeGone = ensure && now >= Date.parse(at) + LISTED_WITHIN_MS;
  const isUnknown = data.schedule === null;
  // Somebody may have changed it at the service since it was recorded.
  if (!list && (isOther || mayBeGone || isUnknown)) return { kind: 'list' };
  // Compares ids: a renamed job still exists.
  if (mayBeGone && jobs?.has(cron_job_id) === false) return block(known, 'gone', { cron_job_id });
  const present = { ...data, schedule: current?.schedule ?? data.schedule, instructions: current?.instructions };
  const differences = isOther ? findDifferences(present, job) : [];
  if (differences.length > 0) return block(known, 'different', { cron_job_id, differences });
  const listed = isUnknown ? current : undefined;
  const shown = listed ? findDifferences(listed, job) : [];
  if (shown.length > 0) return block(known, 'different', { cron_job_id, differences: shown });
  const isScheduleUnknown = isUnknown && !completeSchedule(listed?.schedule);
  if (!ensure) return block(known, 'same', { cron_job_id, isScheduleUnknown });
  return { kind: 'settled', outcome: outcome('exists', { cron_job_id, isScheduleUnknown }) };
}

/** The ids of listed jobs of this name, without an agent, that no record or open reservation accounts for. */
function unexplained({ job, key, recorded, open }: Knowledge, maybe: readonly ListedCronJob[]): readonly string[] {
  const ids = maybe.map(({ cron_job_id }) => cron_job_id).filter((id) => !recorded.has(id));
  // A job of another agent whose response was lost exists without a record, and accounts for one of them.
  const lost = open.filter((other) => other.key !== key && toNfc(other.data.name) === toNfc(job.name));
  return ids.length > lost.length ? ids : [];
}

function decideListed(known: Knowledge, list: JobList): Decision {
  const { same, maybe } = findInList(list, known.job);
  const [listed, ...others] = same;
  if (others.length > 0) {
    return block(known, 'several', { candidates: same.map(({ cron_job_id }) => cron_job_id) });
  }
  if (listed) {
    const { cron_job_id } = listed;
    const differences = findDifferences(listed, known.job);
    const adopted = outcome('adopted', { cron_job_id, isScheduleUnknown: !completeSchedule(listed.schedule) });
    const isOther = differences.length > 0;
    const after = isOther ? blocked(known, 'different', { cron_job_id, differences }) : adopted;
    return { kind: 'adopt', listed, outcome: after };
  }
  const candidates = unexplained(known, maybe);
  if (candidates.length > 0) return block(known, 'ambiguous', { candidates });
  return { kind: 'create', seen: maybe.map(({ cron_job_id }) => cron_job_id) };
}

function decideUnrecorded(known: Knowledge, [first]: readonly JobReservation[]): Decision {
  const { list, canWait, now } = known;
  if (first) {
    if (canWait && !first.isUnknown) return { kind: 'wait', reservation: first };
    // Its age chooses the words: whether it has ended is decided by watching it.
    const isOld = first.isUnknown || now >= Date.parse(first.at) + LEASE_MS;
    return isOld ? { kind: 'settled', outcome: unknown(known, first.at) } : block(known, 'in_progress');
  }
  if (!list) return { kind: 'list' };
  return list === 'closed' ? { kind: 'create', seen: undefined } : decideListed(known, list);
}

/** Decides what to do about a job. One whose instructions are not known can only exist: it is never created. */
export function decide(known: Knowledge): Decision {
  const decision = decideAny(known);
  if (decision.kind !== 'create' || !isNotShown(known.job.instructions)) return decision;
  const { name, agent_id } = known.job;
  const job = `Job ${JSON.stringify(name)} of agent ${agent_id}`;
  const error = new InputError(`${job} does not exist, and its instructions are "${NOT_SHOWN}".`, {
    hint: 'Fill in the instructions.',
  });
  return { kind: 'settled', outcome: outcome('failed', { error }) };
}

function decideAny(known: Knowledge): Decision {
  const { objects, open } = standingOf(known.all, known.key);
  // Merged copies of the state may have left several.
  const recorded = objects.findLast(({ data }) => findDifferences(data, known.job).length === 0) ?? objects.at(-1);
  return recorded ? decideRecorded(known, recorded) : decideUnrecorded(known, open);
}
