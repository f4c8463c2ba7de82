import type { OnceDeps } from '../state-old/once.ts';
import { keyHistories, type OpenReservation, stampRecord } from '../state-old/once-records.ts';
import type { FoundJobs } from './job-list.ts';
import {
  adoptedSnapshot,
  hasOtherContent,
  type JobRecord,
  type JobReservation,
  type JobSnapshot,
  listedSnapshot,
  recordedIds,
} from './job-records.ts';
import { type ListedJob, matchIdentity } from './listed-job.ts';

/** A reservation with an unknown outcome, and the other records that may account for a listed job. */
export interface OpenJob extends OpenReservation<JobSnapshot> {
  /** Ids ever recorded for this service, under any key: other requests created those jobs. */
  readonly recordedIds: ReadonlySet<string>;
  /** Whether a job of the same key is recorded, so that the key stays blocked without the reservation. */
  readonly isGuarded: boolean;
  /** The open reservations of other keys. */
  readonly rivals: readonly JobReservation[];
  /** The open reservations of the same key that precede it in the log. */
  readonly earlier: readonly JobReservation[];
}

/** The result of reconciling one reservation. */
export interface ReconcileResult {
  readonly reservation: JobReservation;
  /** `released`: treated as not created. `in_progress`: its process is still creating the job. */
  readonly status: 'adopted' | 'released' | 'unknown' | 'in_progress';
  readonly cron_job_id: string | null;
  /** Listed jobs that may be the reserved one. */
  readonly candidates: readonly string[];
  /** The time (ISO 8601) until which its job may still appear in the list, and the same by the monotonic clock. */
  readonly settlesAt: string | null;
  readonly waitUntil: number | null;
}

/** What `reconcileOnce` needs. */
export interface ReconcileDeps extends Pick<OnceDeps<JobSnapshot>, 'clock' | 'newId'> {
  readonly ledger: Pick<OnceDeps<JobSnapshot>['ledger'], 'append'>;
}

export interface ReconcileOptions {
  /** Whether to treat a job that is not listed after the grace period as not created. */
  readonly assumeNotCreated: boolean;
  /** How long a job may take to appear in the list, in milliseconds. */
  readonly graceMs: number;
}

/** All open reservations of a service, in log order. */
export function openJobs(records: readonly JobRecord[], origin: string): readonly OpenJob[] {
  const ids = recordedIds(records, origin);
  const open = [...keyHistories(records).values()]
    .flatMap((history) => history.open.map((each) => ({ ...each, isGuarded: history.objects.length > 0 })))
    .filter(({ reservation }) => reservation.snapshot.origin === origin);
  const reservations = open.map(({ reservation }) => reservation);
  return open.map((each, index) => {
    const hasSameKey = ({ key }: JobReservation) => key === each.reservation.key;
    const rivals = reservations.filter((other) => !hasSameKey(other));
    return { ...each, recordedIds: ids, rivals, earlier: reservations.slice(0, index).filter(hasSameKey) };
  });
}

/** The listed jobs that appeared since the reservation and have no record in the state file. */
function newlyListed(job: OpenJob, found: FoundJobs) {
  if (found.kind === 'closed') return { same: [], maybe: [] };
  const isNew = ({ cron_job_id }: ListedJob) =>
    !job.recordedIds.has(cron_job_id) && !job.reservation.remoteIdsSeen?.includes(cron_job_id);
  return { same: found.same.filter(isNew), maybe: found.maybe.filter(isNew) };
}

/** Whether a listed job may be the one posted for a reservation. Missing fields count as equal. */
function mayBelongTo(listed: ListedJob, { snapshot }: JobReservation): boolean {
  if (matchIdentity(listed, snapshot.agent_id, snapshot.name) === 'no') return false;
  return !hasOtherContent(snapshot, listedSnapshot(snapshot, listed));
}

/** Whether a listed job without agent or name certainly belongs to this reservation. */
function certainlyBelongsTo(listed: ListedJob, { reservation, rivals }: OpenJob): boolean {
  // Without the agent, a new job with this name is the reserved one unless another open reservation may have created it.
  if (listed.name === undefined || reservation.remoteIdsSeen === null) return false;
  return !rivals.some((rival) => mayBelongTo(listed, rival));
}

/** Whether an earlier reservation of the key, with other content, may have created a listed job. */
function mayBelongToEarlier(listed: ListedJob, { reservation, earlier }: OpenJob): boolean {
  return earlier.some((other) => hasOtherContent(other.snapshot, reservation.snapshot) && mayBelongTo(listed, other));
}

/** Finds the one listed job to adopt; undefined if there is none, or if several match. */
function findOnlyMatch(job: OpenJob, { same, maybe }: ReturnType<typeof newlyListed>): ListedJob | undefined {
  const [only, ...others] = [...same, ...maybe];
  if (!only || others.length > 0) return undefined;
  if (!mayBelongTo(only, job.reservation) || mayBelongToEarlier(only, job)) return undefined;
  return same.length === 1 || certainlyBelongsTo(only, job) ? only : undefined;
}

/** Returns the one listed job that a reservation led to; undefined if there is none, or if several match. */
export function findReservedJob(job: OpenJob, found: FoundJobs): ListedJob | undefined {
  return findOnlyMatch(job, newlyListed(job, found));
}

/**
 * Settles one reservation by looking for its job in the service's list: adopts a new job if it is the only match, and
 * never guesses among several.
 * @param job read from the log after `found`, because every listed job was reserved before it was created; `actsUntil`
 *   is what `OwnerWatch` said before `found` was read
 * @param found the matching jobs that the service lists now
 * @throws LocalError when the state file cannot be written
 */
export async function reconcileOnce(
  job: OpenJob & { readonly actsUntil: number },
  found: FoundJobs,
  deps: ReconcileDeps,
  { assumeNotCreated, graceMs }: ReconcileOptions,
): Promise<ReconcileResult> {
  const { reservation, actsUntil } = job;
  const unsettled = { reservation, cron_job_id: null, candidates: [], settlesAt: null, waitUntil: null };
  if (actsUntil === Number.POSITIVE_INFINITY) return { ...unsettled, status: 'in_progress' };
  const { ledger, clock } = deps;
  const head = { ...stampRecord(deps), key: reservation.key };
  const listed = newlyListed(job, found);
  const match = findOnlyMatch(job, listed);
  if (match) {
    const snapshot = adoptedSnapshot(reservation.snapshot, match, reservation.snapshot);
    const { cron_job_id } = match;
    await ledger.append({ kind: 'adopted', ...head, snapshot, reservation: reservation.id, remoteId: cron_job_id });
    return { ...unsettled, status: 'adopted', cron_job_id };
  }
  const candidates = [...listed.same, ...listed.maybe].map(({ cron_job_id }) => cron_job_id);
  if (candidates.length > 0 || found.kind === 'closed') return { ...unsettled, status: 'unknown', candidates };
  const waitUntil = actsUntil + graceMs;
  if (found.at < waitUntil) {
    const settlesAt = new Date(clock.now() + waitUntil - clock.monotonic()).toISOString();
    return { ...unsettled, status: found.at < actsUntil ? 'in_progress' : 'unknown', settlesAt, waitUntil };
  }
  if (!assumeNotCreated && !job.isGuarded) return { ...unsettled, status: 'unknown' };
  const reason = job.isGuarded ? 'another_is_known' : 'assumed_not_created';
  await ledger.append({ kind: 'released', ...head, reservation: reservation.id, reason });
  return { ...unsettled, status: 'released' };
}
