import type { LogRecord } from '../state/record.ts';
import { standings } from '../state/standing.ts';
import { type ListedJob, matchIdentity } from './listed-job.ts';
import { hasOtherContent, JOBS, type JobReservation, listedData, recordedIds } from './recorded-job.ts';
import type { FoundJobs } from './service-jobs.ts';

/*
 * Finds the job that a request created whose response was lost (design §6): the job of this agent and name that has no record
 * and was not there before. Never guesses among several.
 */

/** A reservation with an unknown outcome, and the other records that may account for a listed job. */
export interface OpenJob {
  readonly reservation: JobReservation;
  /** Ids ever recorded for this service, under any key: other requests created those jobs. */
  readonly recorded: ReadonlySet<string>;
  /** Whether a job of the same key is recorded, so that the key stays blocked without the reservation. */
  readonly isGuarded: boolean;
  /** The open reservations of other keys. */
  readonly rivals: readonly JobReservation[];
  /** The open reservations of the same key that precede it in the log. */
  readonly earlier: readonly JobReservation[];
}

/** All open reservations of a service, in the order of their keys. */
export function openJobs(records: readonly LogRecord[], origin: string): readonly OpenJob[] {
  const recorded = recordedIds(records, origin);
  const open = [...standings(records, JOBS).values()].flatMap((standing) =>
    standing.open
      .filter(({ data }) => data.origin === origin)
      .map((reservation) => ({ reservation, isGuarded: standing.objects.length > 0 })),
  );
  const reservations = open.map(({ reservation }) => reservation);
  return open.map((each, index) => {
    const hasSameKey = ({ key }: JobReservation) => key === each.reservation.key;
    const rivals = reservations.filter((other) => !hasSameKey(other));
    return { ...each, recorded, rivals, earlier: reservations.slice(0, index).filter(hasSameKey) };
  });
}

/** The listed jobs that appeared since the reservation and have no record. */
function newlyListed({ recorded, reservation }: OpenJob, found: FoundJobs) {
  if (found.kind === 'closed') return { same: [], maybe: [] };
  const isNew = ({ cron_job_id }: ListedJob) => !recorded.has(cron_job_id) && !reservation.seen?.includes(cron_job_id);
  return { same: found.same.filter(isNew), maybe: found.maybe.filter(isNew) };
}

/** Whether a listed job may be the one posted for a reservation. Missing fields count as equal. */
function mayBelongTo(listed: ListedJob, { data }: JobReservation): boolean {
  if (matchIdentity(listed, data.agent_id, data.name) === 'no') return false;
  return !hasOtherContent(data, listedData(data, listed));
}

/** Whether a listed job without agent or name certainly belongs to this reservation. */
function certainlyBelongsTo(listed: ListedJob, { reservation, rivals }: OpenJob): boolean {
  // Without the agent, a new job with this name is the reserved one unless another open reservation may have created it.
  if (listed.name === undefined || reservation.seen === undefined) return false;
  return !rivals.some((rival) => mayBelongTo(listed, rival));
}

/** Whether an earlier reservation of the key, with other content, may have created a listed job. */
function mayBelongToEarlier(listed: ListedJob, { reservation, earlier }: OpenJob): boolean {
  return earlier.some((other) => hasOtherContent(other.data, reservation.data) && mayBelongTo(listed, other));
}

/** Looks for the job of a reservation. @returns the one that it is, or else all that it may be */
export function findCreated(
  open: OpenJob,
  found: FoundJobs,
): { readonly match: ListedJob | undefined; readonly candidates: readonly string[] } {
  const { same, maybe } = newlyListed(open, found);
  const [only, ...others] = [...same, ...maybe];
  const isMatch =
    only !== undefined &&
    others.length === 0 &&
    mayBelongTo(only, open.reservation) &&
    !mayBelongToEarlier(only, open) &&
    (same.length === 1 || certainlyBelongsTo(only, open));
  return { match: isMatch ? only : undefined, candidates: [...same, ...maybe].map(({ cron_job_id }) => cron_job_id) };
}
