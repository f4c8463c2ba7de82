import {
  type CronRecord,
  historiesOf,
  type OpenReservation,
  type Recorded,
  type Reserved,
} from '../domain/cron/ledger.ts';
import { contentOf, type ListedJob } from '../domain/cron/matching.ts';
import type { Clock } from '../io.ts';
import { type Found, type GuardParts, isOver, type Ledger, listedFacts } from './create-once.ts';

/** A reservation whose outcome is open, with what else is known of its key. */
export interface OpenJob extends OpenReservation {
  /** Ids that the file knows already, under whatever key. */
  readonly known: ReadonlySet<string>;
}

export interface Settled {
  readonly reservation: Reserved;
  /** `released`: taken as not created. `under_way`: its process is at work. */
  readonly status: 'adopted' | 'released' | 'unknown' | 'under_way';
  readonly cron_job_id: string | null;
  /** Of listed jobs that could be it, where it cannot be told which is. */
  readonly candidates: readonly string[];
  /** ISO 8601: before this moment its job may still appear in the list. */
  readonly settlesAt: string | null;
}

/** All reservations of a service without an end, in the order of the file. */
export function openJobs(records: readonly CronRecord[], origin: string): readonly OpenJob[] {
  const histories = [...historiesOf(records).values()];
  const known = new Set(histories.flatMap(({ jobs }) => jobs.map(({ cron_job_id }) => cron_job_id)));
  const open = histories.flatMap((history) => history.open);
  return open.filter(({ reservation }) => reservation.origin === origin).map((each) => ({ ...each, known }));
}

/** The listed jobs that came since the reservation, and that the file does not know. */
function newOnes({ reservation, known }: OpenJob, found: Found): { same: ListedJob[]; maybe: ListedJob[] } {
  if (found.kind === 'closed') return { same: [], maybe: [] };
  const isNew = ({ cron_job_id }: ListedJob) => !known.has(cron_job_id) && !reservation.seen?.includes(cron_job_id);
  return { same: found.same.filter(isNew), maybe: found.maybe.filter(isNew) };
}

/** Whether a listed job has another content than was posted, as far as both are known. */
function isOther(
  { content_hash, schedule }: Reserved,
  listed: ListedJob,
  facts: { content_hash: string | null },
): boolean {
  if (facts.content_hash !== null) return facts.content_hash !== content_hash;
  // Of the instructions only a hash is kept, so without them the schedule alone is compared.
  return (
    schedule !== null &&
    contentOf({ ...listed, instructions: undefined }, { schedule, instructions: '' }) === 'different'
  );
}

/** What reconciling needs of the world. */
export interface ReconcileParts extends Pick<GuardParts, 'clock' | 'newId' | 'hasEnded'> {
  readonly ledger: Pick<Ledger, 'append'>;
  readonly origin: string;
  /** Milliseconds after which a job that is not listed will not appear any more. */
  readonly graceMs: number;
}

/** When nothing more can come of a request whose answer was lost. */
function settlesAt({ reservation, unknown }: OpenReservation, graceMs: number): number {
  return Date.parse(unknown?.at ?? reservation.at) + graceMs;
}

/** A reservation whose process is at work. */
export function underWay(reservation: Reserved): Settled {
  return { reservation, status: 'under_way', cron_job_id: null, candidates: [], settlesAt: null };
}

/**
 * Settles one reservation by the service's list: exactly one new job that matches is adopted, several are never guessed.
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
  const { ledger, clock, newId, origin, graceMs } = parts;
  const { reservation } = job;
  if (!(await isOver(job, parts))) return underWay(reservation);
  const nothing = { reservation, cron_job_id: null, candidates: [], settlesAt: null };
  const head = { id: newId(), at: new Date(clock.now()).toISOString(), key: reservation.key };
  const { same, maybe } = newOnes(job, found);
  const candidates = [...same, ...maybe];
  const [only] = candidates;
  if (only && candidates.length === 1) {
    const facts = listedFacts(origin, reservation, only);
    // Where a service does not say the agent, a job of the name that was not there before is the one.
    const isNamed = same.length === 1 || (only.name === reservation.name && reservation.seen !== null);
    if (isNamed && !isOther(reservation, only, facts)) {
      const { cron_job_id } = only;
      const { schedule, instructions_hash, content_hash } = facts.content_hash === null ? reservation : facts;
      const adopted: Recorded = {
        ...head,
        type: 'cron.adopted',
        ...{ ...facts, schedule, instructions_hash, content_hash },
        reservation: reservation.id,
        cron_job_id,
      };
      await ledger.append(adopted);
      return { ...nothing, status: 'adopted', cron_job_id };
    }
  }
  if (candidates.length > 0) {
    return { ...nothing, status: 'unknown', candidates: candidates.map(({ cron_job_id }) => cron_job_id) };
  }
  const open = settlesAt(job, graceMs);
  if (clock.now() < open) return { ...nothing, status: 'unknown', settlesAt: new Date(open).toISOString() };
  if (!assume) return { ...nothing, status: 'unknown' };
  await ledger.append({ ...head, type: 'cron.released', reservation: reservation.id, why: 'assumed_not_created' });
  return { ...nothing, status: 'released' };
}

/** Waits until every one of these would have appeared in the list. */
export async function waitForGrace(settled: readonly Settled[], clock: Clock, ended: AbortSignal): Promise<void> {
  const moments = settled.map((each) => (each.settlesAt === null ? 0 : Date.parse(each.settlesAt)));
  const until = Math.max(0, ...moments);
  const wait = until - clock.now();
  if (wait > 0) await clock.sleep(wait, ended);
}
