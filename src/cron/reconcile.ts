import type { Found, GuardParts, Ledger } from './create-once.ts';
import { hasOtherContent, listedFacts } from './facts.ts';
import {
  type CronRecord,
  historiesOf,
  type JobFacts,
  type OpenReservation,
  type Recorded,
  type Reserved,
  recordedIds,
} from './history.ts';
import { couldBe, type ListedJob } from './matching.ts';
import { isOver, lastSentBy } from './reservation.ts';

/** A reservation whose outcome is open, with what else is known of its key. */
export interface OpenJob extends OpenReservation {
  /** Ids that the file has ever recorded of this service, under whatever key: other requests made those jobs. */
  readonly known: ReadonlySet<string>;
  /** Whether the file knows a job of its key: then the key is guarded without the reservation. */
  readonly isGuarded: boolean;
  /** The open reservations of other keys. */
  readonly rivals: readonly Reserved[];
  /** Those of its own key that stand before it. */
  readonly earlier: readonly Reserved[];
  /** When it was found out before that nothing more can come of it, in milliseconds. */
  readonly settlesAt?: number | undefined;
}

export interface Settled {
  readonly reservation: Reserved;
  /** `released`: taken as not created. `in_progress`: its process is at work. */
  readonly status: 'adopted' | 'released' | 'unknown' | 'in_progress';
  readonly cron_job_id: string | null;
  /** Of listed jobs that could be it, where it cannot be told which is. */
  readonly candidates: readonly string[];
  /** ISO 8601: before this moment its job may still appear in the list. */
  readonly settlesAt: string | null;
}

/** All reservations of a service without an end, in the order of the file. */
export function openJobs(records: readonly CronRecord[], origin: string): readonly OpenJob[] {
  const known = recordedIds(records, origin);
  const open = [...historiesOf(records).values()]
    .flatMap((history) => history.open.map((each) => ({ ...each, isGuarded: history.jobs.length > 0 })))
    .filter(({ reservation }) => reservation.origin === origin);
  const reservations = open.map(({ reservation }) => reservation);
  return open.map((each, at) => {
    const isOfKey = ({ key }: Reserved) => key === each.reservation.key;
    const rivals = reservations.filter((other) => !isOfKey(other));
    return { ...each, known, rivals, earlier: reservations.slice(0, at).filter(isOfKey) };
  });
}

/** The listed jobs that came since the reservation, and that the file does not know. */
function newOnes({ reservation, known }: OpenJob, found: Found): { same: ListedJob[]; maybe: ListedJob[] } {
  if (found.kind === 'closed') return { same: [], maybe: [] };
  const isNew = ({ cron_job_id }: ListedJob) => !known.has(cron_job_id) && !reservation.seen?.includes(cron_job_id);
  return { same: found.same.filter(isNew), maybe: found.maybe.filter(isNew) };
}

/** Whether a listed job could be what was posted for a reservation, as far as both are known. */
function isLike(listed: ListedJob, reservation: Reserved): boolean {
  if (couldBe(listed, reservation.agent_id, reservation.name) === 'no') return false;
  return !hasOtherContent(reservation, listedFacts(reservation.origin, reservation, listed));
}

/** Whether a listed job of which the service does not say all is this reservation's for certain. */
function isItsOwn(listed: ListedJob, { reservation, rivals }: OpenJob): boolean {
  // Where a service does not say the agent, a job of the name that was not there before is the one, unless another
  // request whose outcome is open can have made it.
  if (listed.name === undefined || reservation.seen === null) return false;
  return !rivals.some((rival) => isLike(listed, rival));
}

/** Whether an earlier reservation of the key, with other content, can have made a listed job: the first one sends. */
function isOfEarlier(listed: ListedJob, { reservation, earlier }: OpenJob): boolean {
  return earlier.some((other) => hasOtherContent(other, reservation) && isLike(listed, other));
}

/** What reconciling needs of the world. */
export interface ReconcileParts extends Pick<GuardParts, 'clock' | 'newId' | 'hasEnded'> {
  readonly ledger: Pick<Ledger, 'append'>;
  /** Milliseconds after which a job that is not listed will not appear any more. */
  readonly graceMs: number;
}

/** What is recorded of the content: what the service says of it, or, where it does not say all, what was posted. */
function adoptedFacts(reservation: Reserved, listed: ListedJob): JobFacts {
  const said = listedFacts(reservation.origin, reservation, listed);
  const { schedule, instructions_hash, content_hash } = said.content_hash === null ? reservation : said;
  return { ...said, schedule, instructions_hash, content_hash };
}

/** A reservation whose process is at work. */
function underWay(reservation: Reserved): Settled {
  return { reservation, status: 'in_progress', cron_job_id: null, candidates: [], settlesAt: null };
}

/**
 * Settles one reservation by the service's list: exactly one new job that matches is adopted, several are never guessed.
 * @param job as the file had it when `found` had been read: whatever is listed was reserved in the file before
 * @param found what the service lists now
 * @param assume whether none, once the time of grace is over, means that none was created
 * @throws LocalError when the state file cannot be written
 */
export async function reconcileOne(
  job: OpenJob,
  found: Found,
  parts: ReconcileParts,
  assume: boolean,
): Promise<Settled> {
  const { ledger, clock, newId, graceMs } = parts;
  const { reservation } = job;
  if (!(await isOver(job, parts))) return underWay(reservation);
  const nothing = { reservation, cron_job_id: null, candidates: [], settlesAt: null };
  const head = { id: newId(), at: new Date(clock.now()).toISOString(), key: reservation.key };
  const { same, maybe } = newOnes(job, found);
  const candidates = [...same, ...maybe];
  const [only] = candidates;
  const canBe = only && candidates.length === 1 && isLike(only, reservation) && !isOfEarlier(only, job);
  if (canBe && (same.length === 1 || isItsOwn(only, job))) {
    const { cron_job_id } = only;
    const facts = adoptedFacts(reservation, only);
    const adopted: Recorded = { ...head, type: 'cron.adopted', ...facts, reservation: reservation.id, cron_job_id };
    await ledger.append(adopted);
    return { ...nothing, status: 'adopted', cron_job_id };
  }
  if (candidates.length > 0) {
    return { ...nothing, status: 'unknown', candidates: candidates.map(({ cron_job_id }) => cron_job_id) };
  }
  if (found.kind === 'closed') return { ...nothing, status: 'unknown' };
  const settlesAt = job.settlesAt ?? lastSentBy(job, clock.now()) + graceMs;
  if (found.at < settlesAt) {
    return { ...nothing, status: 'unknown', settlesAt: new Date(settlesAt).toISOString() };
  }
  if (!assume && !job.isGuarded) return { ...nothing, status: 'unknown' };
  const why = job.isGuarded ? 'another_is_known' : 'assumed_not_created';
  await ledger.append({ ...head, type: 'cron.released', reservation: reservation.id, why });
  return { ...nothing, status: 'released' };
}
