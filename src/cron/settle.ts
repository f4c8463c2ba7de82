import type { Clock } from '../clock.ts';
import type { Found, Ledger } from './create-once.ts';
import { type CronRecord, type Recorded, type Reserved, recordedIds } from './history.ts';
import type { CronJob } from './job.ts';
import { unknownKeyError } from './job-selection.ts';
import { type OpenJob, openJobs, type ReconcileParts, reconcileOne, type Settled } from './reconcile.ts';

type Wanted = Pick<CronJob, 'agent_id' | 'name'>;

export interface SettleOptions {
  /** Only this key. */
  readonly key: string | undefined;
  readonly assumeNotCreated: boolean;
  readonly graceMs: number;
}

/** What settling needs of the world. */
export interface SettleParts extends Omit<ReconcileParts, 'graceMs'> {
  readonly origin: string;
  readonly clock: Clock;
  readonly ledger: Pick<Ledger, 'append'> & { readAll(): Promise<{ readonly records: readonly CronRecord[] }> };
  /** Looks anew at the service's list. @throws PartnerctlError where it cannot be read */
  readonly look: (wanted: readonly Wanted[]) => (job: Wanted) => Promise<Found>;
  /** Asks a person whether a job that is not listed was not created; undefined where nobody can be asked. */
  readonly confirm: ((settled: Settled) => Promise<boolean>) | undefined;
  /** Told before the time of grace is waited for. */
  readonly onWait: () => void;
  /** Ends waiting. */
  readonly ended: AbortSignal;
}

/** A record that could not be appended to the state file when it was made. */
interface Left {
  readonly record: CronRecord;
}

/**
 * Appends to the state file what a command could not append when it created a job, unless its id was recorded since.
 * @param remove told of each once the file has its id
 * @returns those that were appended
 */
export async function takeUp<Each extends Left>(
  left: readonly Each[],
  ledger: SettleParts['ledger'],
  remove: (left: Each) => Promise<void>,
): Promise<readonly Recorded[]> {
  if (left.length === 0) return [];
  const { records } = await ledger.readAll();
  const taken: Recorded[] = [];
  for (const each of left) {
    const { record } = each;
    if (record.type !== 'cron.created') continue;
    if (!recordedIds(records, record.origin).has(record.cron_job_id)) {
      await ledger.append(record);
      taken.push(record);
    }
    await remove(each);
  }
  return taken;
}

function isOpen({ status }: Settled): boolean {
  return status === 'unknown' || status === 'in_progress';
}

/** Whether a person may say that it was not created: nothing that could be it is there, nor will appear. */
function isMissing({ status, candidates, settlesAt }: Settled): boolean {
  return status === 'unknown' && candidates.length === 0 && settlesAt === null;
}

/** The open reservations, as far as they are among the wanted ones. */
async function openOf({ ledger, origin }: SettleParts, isWanted: (job: OpenJob) => boolean): Promise<OpenJob[]> {
  const { records } = await ledger.readAll();
  return openJobs(records, origin).filter(isWanted);
}

/** When it was first found out that nothing more can come of a reservation, plus the time of grace; by its id. */
type Moments = Map<string, number>;

/** One round, with one look at the list. What others settled meanwhile is left out. */
async function round(
  wanted: readonly Reserved[],
  moments: Moments,
  parts: SettleParts & ReconcileParts,
  assume: boolean,
): Promise<Settled[]> {
  const find = parts.look(wanted);
  for (const each of wanted) await find(each);
  // After the list: what made a listed job had reserved it in the file before.
  const ids = new Set(wanted.map(({ id }) => id));
  const jobs = await openOf(parts, ({ reservation }) => ids.has(reservation.id));
  const taken = new Set<string>();
  const settled: Settled[] = [];
  for (const job of jobs) {
    const { id } = job.reservation;
    const known = new Set([...job.known, ...taken]);
    const found = await find(job.reservation);
    const one = await reconcileOne({ ...job, known, settlesAt: moments.get(id) }, found, parts, assume);
    if (one.cron_job_id !== null) taken.add(one.cron_job_id);
    if (one.settlesAt !== null) moments.set(id, Date.parse(one.settlesAt));
    settled.push(one);
  }
  return settled;
}

/** Waits until every one of these would have appeared in the list. */
async function waitForGrace(settled: readonly Settled[], { clock, ended, onWait }: SettleParts): Promise<void> {
  const until = Math.max(0, ...settled.map(({ settlesAt }) => (settlesAt === null ? 0 : Date.parse(settlesAt))));
  if (clock.now() < until) onWait();
  // A timer may go off a little early.
  while (clock.now() < until) await clock.sleep(until - clock.now(), ended);
}

/**
 * Settles the reservations whose outcome is not known, by the service's list.
 * @returns what became of each; those that stay open are `unknown` or `in_progress`
 * @throws NotFoundError when the file knows nothing of the key; PartnerctlError when the list cannot be read; LocalError when the state file cannot be written
 */
export async function settle(
  all: SettleParts,
  { key, assumeNotCreated, graceMs }: SettleOptions,
): Promise<readonly Settled[]> {
  const parts = { ...all, graceMs };
  const { confirm } = all;
  const moments: Moments = new Map();
  const { records } = await all.ledger.readAll();
  if (key !== undefined && !records.some((record) => record.key === key)) throw unknownKeyError(key);
  const jobs = await openOf(parts, ({ reservation }) => key === undefined || reservation.key === key);
  if (jobs.length === 0) return [];

  /** Another round over some of them; the others stay as they are. */
  async function again(before: readonly Settled[], some: readonly Settled[], assume: boolean): Promise<Settled[]> {
    if (some.length === 0) return [...before];
    const wanted = some.map(({ reservation }) => reservation);
    const later = new Map((await round(wanted, moments, parts, assume)).map((each) => [each.reservation.id, each]));
    return before.flatMap((each) => (some.includes(each) ? (later.get(each.reservation.id) ?? []) : each));
  }

  const reservations = jobs.map(({ reservation }) => reservation);
  let settled = await round(reservations, moments, parts, assumeNotCreated);
  if ((assumeNotCreated || confirm) && settled.some(({ settlesAt }) => settlesAt !== null)) {
    await waitForGrace(settled, all);
    settled = await again(settled, settled.filter(isOpen), assumeNotCreated);
  }
  if (assumeNotCreated || !confirm) return settled;
  const notCreated: Settled[] = [];
  for (const each of settled.filter(isMissing)) if (await confirm(each)) notCreated.push(each);
  return await again(settled, notCreated, true);
}
