import { isAbandoned, type OnceDeps } from '../state/once.ts';
import { keyHistories, type OpenReservation } from '../state/once-records.ts';
import { lastSentBy } from './create-once.ts';
import type { FoundJobs } from './job-list.ts';
import {
  hasOtherContent,
  type JobRecord,
  type JobReservation,
  type JobSnapshot,
  listedSnapshot,
  recordedIds,
} from './job-records.ts';
import { type ListedJob, matchIdentity } from './matching.ts';

/** A reservation whose outcome is open, with what else the state file knows that could explain a listed job. */
export interface OpenJob extends OpenReservation<JobSnapshot> {
  /** Ids ever recorded for this service, under whatever key: other requests created those jobs. */
  readonly known: ReadonlySet<string>;
  /** Whether a job of its key is recorded: then the key is guarded without the reservation. */
  readonly isGuarded: boolean;
  /** The open reservations of other keys. */
  readonly rivals: readonly JobReservation[];
  /** The open reservations of its own key that stand before it. */
  readonly earlier: readonly JobReservation[];
  /** When it was found before that nothing more can come of it, plus the grace period; in milliseconds. */
  readonly settlesAt?: number | undefined;
}

/** What became of a reservation whose outcome was open. */
export interface ReconcileResult {
  readonly reservation: JobReservation;
  /** `released`: taken as not created. `in_progress`: its process is at work. */
  readonly status: 'adopted' | 'released' | 'unknown' | 'in_progress';
  readonly cron_job_id: string | null;
  /** Listed jobs that could be it, where it cannot be told which is. */
  readonly candidates: readonly string[];
  /** ISO 8601: before this moment its job may still appear in the list. */
  readonly settlesAt: string | null;
}

/** What reconciling one reservation needs. */
export interface ReconcileDeps extends Pick<OnceDeps<JobSnapshot>, 'clock' | 'newId' | 'hasEnded'> {
  readonly ledger: Pick<OnceDeps<JobSnapshot>['ledger'], 'append'>;
}

export interface ReconcileOptions {
  /** Whether a job that is not listed once the grace period is over was not created. */
  readonly assumeNotCreated: boolean;
  /** Milliseconds after which a job that is not listed will not appear any more. */
  readonly graceMs: number;
}

/** All open reservations of a service, in log order. */
export function openJobs(records: readonly JobRecord[], origin: string): readonly OpenJob[] {
  const known = recordedIds(records, origin);
  const open = [...keyHistories(records).values()]
    .flatMap((history) => history.open.map((each) => ({ ...each, isGuarded: history.objects.length > 0 })))
    .filter(({ reservation }) => reservation.snapshot.origin === origin);
  const reservations = open.map(({ reservation }) => reservation);
  return open.map((each, index) => {
    const isOfKey = ({ key }: JobReservation) => key === each.reservation.key;
    const rivals = reservations.filter((other) => !isOfKey(other));
    return { ...each, known, rivals, earlier: reservations.slice(0, index).filter(isOfKey) };
  });
}

/** The listed jobs that appeared since the reservation and that the state file does not know. */
function newlyListed({ reservation, known }: OpenJob, found: FoundJobs) {
  if (found.kind === 'closed') return { same: [], maybe: [] };
  const isNew = ({ cron_job_id }: ListedJob) =>
    !known.has(cron_job_id) && !reservation.remoteIdsSeen?.includes(cron_job_id);
  return { same: found.same.filter(isNew), maybe: found.maybe.filter(isNew) };
}

/** Whether a listed job could be what was posted for a reservation, as far as both are known. */
function isLike(listed: ListedJob, { snapshot }: JobReservation): boolean {
  if (matchIdentity(listed, snapshot.agent_id, snapshot.name) === 'no') return false;
  return !hasOtherContent(snapshot, listedSnapshot(snapshot.origin, snapshot, listed));
}

/** Whether a listed job that the service describes incompletely is certainly this reservation's. */
function isOwn(listed: ListedJob, { reservation, rivals }: OpenJob): boolean {
  // Without the agent, a job of the name that was not there before is the one, unless another open request can have
  // created it.
  if (listed.name === undefined || reservation.remoteIdsSeen === null) return false;
  return !rivals.some((rival) => isLike(listed, rival));
}

/** Whether an earlier reservation of the key, with other content, can have created a listed job: the first one sends. */
function isOfEarlier(listed: ListedJob, { reservation, earlier }: OpenJob): boolean {
  return earlier.some((other) => hasOtherContent(other.snapshot, reservation.snapshot) && isLike(listed, other));
}

/** The one listed job that is this reservation's; undefined where there is none, or where it cannot be told. */
function jobOf(job: OpenJob, { same, maybe }: ReturnType<typeof newlyListed>): ListedJob | undefined {
  const [only, ...others] = [...same, ...maybe];
  if (!only || others.length > 0 || !isLike(only, job.reservation) || isOfEarlier(only, job)) return undefined;
  return same.length === 1 || isOwn(only, job) ? only : undefined;
}

/** What to record of the content: what the service says of it, or, where it does not say all, what was posted. */
function contentToRecord({ snapshot }: JobReservation, listed: ListedJob): JobSnapshot {
  const said = listedSnapshot(snapshot.origin, snapshot, listed);
  const { schedule, instructions_hash, content_hash } = said.content_hash === null ? snapshot : said;
  return { ...said, schedule, instructions_hash, content_hash };
}

/**
 * Settles one reservation by the service's list: exactly one new job that matches is adopted, several are never guessed
 * (design §6).
 * @param job as the log had it after `found` was read: whatever is listed was reserved in the log before
 * @param found what the service lists now
 * @throws LocalError when the state file cannot be written
 */
export async function reconcileOnce(
  job: OpenJob,
  found: FoundJobs,
  deps: ReconcileDeps,
  { assumeNotCreated, graceMs }: ReconcileOptions,
): Promise<ReconcileResult> {
  const { ledger, clock, newId } = deps;
  const { reservation } = job;
  const nothing = { reservation, cron_job_id: null, candidates: [], settlesAt: null };
  if (!(await isAbandoned(job, deps))) return { ...nothing, status: 'in_progress' };
  const head = { id: newId(), at: new Date(clock.now()).toISOString(), key: reservation.key };
  const listed = newlyListed(job, found);
  const own = jobOf(job, listed);
  if (own) {
    const snapshot = contentToRecord(reservation, own);
    const { cron_job_id } = own;
    await ledger.append({ kind: 'adopted', ...head, snapshot, reservation: reservation.id, remoteId: cron_job_id });
    return { ...nothing, status: 'adopted', cron_job_id };
  }
  const candidates = [...listed.same, ...listed.maybe].map(({ cron_job_id }) => cron_job_id);
  if (candidates.length > 0 || found.kind === 'closed') return { ...nothing, status: 'unknown', candidates };
  const settlesAt = job.settlesAt ?? lastSentBy(job, clock.now()) + graceMs;
  if (found.at < settlesAt) {
    return { ...nothing, status: 'unknown', settlesAt: new Date(settlesAt).toISOString() };
  }
  if (!assumeNotCreated && !job.isGuarded) return { ...nothing, status: 'unknown' };
  const reason = job.isGuarded ? 'another_is_known' : 'assumed_not_created';
  await ledger.append({ kind: 'released', ...head, reservation: reservation.id, reason });
  return { ...nothing, status: 'released' };
}
