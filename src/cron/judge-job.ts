import type { ListedCronJob } from '../contract/resources.ts';
import { InputError } from '../errors.ts';
import {
  type CronJob,
  findDifferences,
  isNotShown,
  type JobReservation,
  type JobStandings,
  type RecordedJob,
  toNfc,
} from './job.ts';
import { findInList, type JobList } from './job-list.ts';
import { type ExistingJob, type LookAlike, presentContent } from './look-alikes.ts';
import { blocked, comparison, type JobOutcome, outcome, type Subject, unknown } from './outcomes.ts';
import { completeSchedule } from './schedule.ts';

/*
 * Decides what it means for the creation of a job that the state or the service's list has one like it. Pure: the same
 * decision serves `cron create`, `provision`, and their plans. A job is at the service what the list shows; the record
 * says that it is ours, and what the list does not show.
 */

/** What a run wants of jobs that exist. */
export interface RunOptions {
  /** Whether an existing job counts as success. If so, waits for a job that another process is creating. */
  readonly ensure: boolean;
  /** Whether to skip all writes, both to the state and to the service, and all waits for other processes. */
  readonly dryRun: boolean;
  /** Whether a dry run precedes one that waits: what another process is creating is left to that one. */
  readonly willRun?: boolean;
  /** Whether a job of an agent may be created beside one that it was probably made of by an edit. */
  readonly createBeside: boolean | ((agentId: string) => boolean);
  /** Whether the files of the run name or ignore a job. Undefined for a job that is in no file. */
  readonly isNamed?: ((job: ExistingJob) => boolean) | undefined;
}

export interface Knowledge extends Subject, RunOptions {
  readonly job: CronJob;
  /** The base URL of the service. */
  readonly origin: string;
  readonly standings: JobStandings;
  /** Undefined if it has not been read yet; `closed` if it cannot be read. */
  readonly list: JobList | 'closed' | undefined;
  /** Finds what the job was probably made of; called only with a list. */
  readonly findLookAlikes: (job: CronJob) => readonly LookAlike[];
}

export type Decision =
  | { readonly kind: 'settled'; readonly outcome: JobOutcome }
  /** Another process may be creating it. */
  | { readonly kind: 'wait'; readonly reservation: JobReservation }
  /** The service's list has to be read before anything can be said. */
  | { readonly kind: 'list' }
  /** It is recorded, and the list does not show it yet, or any more. */
  | { readonly kind: 'unlisted'; readonly cron_job_id: string }
  /** The service has it, and the state does not know it. `outcome` is what to report once it is recorded. */
  | { readonly kind: 'adopt'; readonly listed: ListedCronJob; readonly outcome: JobOutcome }
  /** `seen`: the ids in the list that could be mistaken for it; undefined if the list cannot be read. */
  | { readonly kind: 'create'; readonly seen: readonly string[] | undefined };

function settled(decided: JobOutcome): Decision {
  return { kind: 'settled', outcome: decided };
}

function decideRecorded(known: Knowledge, { object: cron_job_id, data }: RecordedJob): Decision {
  const { job, list, ensure } = known;
  // Without --ensure, it is blocked in any case; the list tells only which differences to name.
  if (!list && (ensure || data.schedule === null || findDifferences(data, job).length > 0)) return { kind: 'list' };
  const jobs = typeof list === 'object' ? list.jobs : undefined;
  // Compares ids: a renamed job still exists.
  if (ensure && jobs?.has(cron_job_id) === false) return { kind: 'unlisted', cron_job_id };
  const present = presentContent(data, jobs?.get(cron_job_id));
  const differences = findDifferences(present, job);
  if (differences.length > 0) {
    const presentSchedule = completeSchedule(present.schedule);
    return settled(blocked(known, 'different', { cron_job_id, differences, presentSchedule }));
  }
  const found = { cron_job_id, ...comparison(present.schedule) };
  return ensure ? settled(outcome('exists', found)) : settled(blocked(known, 'same', found));
}

/** Those of listed jobs of this name, without an agent, that no record or open reservation accounts for. */
function unexplained({ job, key, origin, standings }: Knowledge, seen: readonly string[]): readonly string[] {
  const ids = seen.filter((id) => !standings.dataOf(origin, id));
  if (ids.length === 0) return [];
  // A job of another agent whose response was lost exists without a record, and accounts for one of them.
  const lost = standings
    .open()
    .filter((other) => other.key !== key && other.data.origin === origin && toNfc(other.data.name) === toNfc(job.name));
  return ids.length > lost.length ? ids : [];
}

/** @param seen as in `Decision` */
function decideNew(known: Knowledge, seen: readonly string[] | undefined): Decision {
  const { job, createBeside } = known;
  if (isNotShown(job.instructions)) {
    // One whose instructions are not known can only exist. A manifest says where they are missing.
    const error = new InputError(`The instructions of the job ${JSON.stringify(job.name)} must be filled in.`);
    return settled(outcome('failed', { error }));
  }
  const mayBeside = typeof createBeside === 'boolean' ? createBeside : createBeside(job.agent_id);
  const lookAlikes = mayBeside ? [] : known.findLookAlikes(job);
  return lookAlikes.length > 0 ? settled(blocked(known, 'edited', { lookAlikes })) : { kind: 'create', seen };
}

function decideListed(known: Knowledge, list: JobList): Decision {
  const { same, maybe } = findInList(list, known.job);
  const [listed, ...others] = same;
  if (others.length > 0) {
    return settled(blocked(known, 'several', { candidates: same.map(({ cron_job_id }) => cron_job_id) }));
  }
  if (listed) {
    const { cron_job_id } = listed;
    const differences = findDifferences(listed, known.job);
    if (differences.length === 0) {
      return { kind: 'adopt', listed, outcome: outcome('adopted', { cron_job_id, ...comparison(listed.schedule) }) };
    }
    const found = { cron_job_id, differences, presentSchedule: completeSchedule(listed.schedule) };
    return { kind: 'adopt', listed, outcome: blocked(known, 'different', found) };
  }
  const seen = maybe.map(({ cron_job_id }) => cron_job_id);
  const candidates = unexplained(known, seen);
  return candidates.length > 0 ? settled(blocked(known, 'ambiguous', { candidates })) : decideNew(known, seen);
}

function decideUnrecorded(known: Knowledge, [first]: readonly JobReservation[]): Decision {
  const { list, ensure, dryRun, willRun } = known;
  if (first) {
    if (first.isUnknown) return settled(unknown(known, first.at));
    if (!ensure) return settled(blocked(known, 'in_progress', { since: first.at }));
    if (!dryRun) return { kind: 'wait', reservation: first };
    return settled(willRun ? outcome('planned') : unknown(known, first.at));
  }
  if (!list) return { kind: 'list' };
  return list === 'closed' ? decideNew(known, undefined) : decideListed(known, list);
}

/** Decides what to do about a job. */
export function judgeJob(known: Knowledge): Decision {
  const { objects, open } = known.standings.of(known.key);
  // Merged copies of the state may have left several.
  const recorded = objects.findLast(({ data }) => findDifferences(data, known.job).length === 0) ?? objects.at(-1);
  return recorded ? decideRecorded(known, recorded) : decideUnrecorded(known, open);
}
