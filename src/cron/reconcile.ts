import type { Clock } from '../clock.ts';
import { outlive } from '../state/lease.ts';
import type { Log } from '../state/log.ts';
import { standings } from '../state/standing.ts';
import { findCreated, type OpenJob, openJobs } from './find-created.ts';
import type { CronJob } from './job.ts';
import type { FindJob } from './job-list.ts';
import { adoptedData, JOBS, type JobReservation, recordedIds } from './jobs.ts';
import { unknownKeyError } from './recorded-job.ts';

/** The result of reconciling one reservation. */
export interface Reconciled {
  readonly reservation: JobReservation;
  /** `released`: treated as not created. */
  readonly status: 'adopted' | 'released' | 'unknown';
  readonly cron_job_id: string | null;
  /** Listed jobs that may be the reserved one. */
  readonly candidates: readonly string[];
}

/** What `reconcileJobs` needs. */
export interface ReconcileDeps {
  /** The base URL of the service. */
  readonly origin: string;
  readonly log: Log;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Returns a function that looks in the list as it is from now on. @throws PartnerctlError when it cannot be read */
  readonly findAnew: (wanted: readonly Pick<CronJob, 'name'>[]) => FindJob;
  /** Asks whether a job that is not listed was not created; undefined if nobody can be asked. */
  readonly confirm: ((reservation: JobReservation) => Promise<boolean>) | undefined;
  /** Called before a wait, with the milliseconds that it may take. */
  readonly onWait: (leftMs: number) => void;
}

export interface ReconcileOptions {
  /** Limits it to one key. */
  readonly key: string | undefined;
  /** Whether to treat jobs that are not listed as not created. */
  readonly assumeNotCreated: boolean;
}

interface Look {
  readonly adopted: readonly Reconciled[];
  /** The reservations that the list does not explain. */
  readonly unexplained: readonly (OpenJob & { readonly candidates: readonly string[] })[];
}

/**
 * Looks for the jobs of open reservations in the list, and adopts those that are certain. Reads the log after the list: every
 * listed job was reserved before it was created.
 */
async function look({ log, origin, findAnew }: ReconcileDeps, wanted: readonly JobReservation[]): Promise<Look> {
  const ids = new Set(wanted.map(({ id }) => id));
  const find = findAnew(wanted.map(({ data }) => data));
  const lists = new Map<string, Awaited<ReturnType<FindJob>>>();
  for (const { id, data } of wanted) lists.set(id, await find(data));
  const records = await log.read();
  const known = new Set(recordedIds(records, origin));
  const adopted: Reconciled[] = [];
  const unexplained: (OpenJob & { candidates: readonly string[] })[] = [];
  for (const open of openJobs(standings(records, JOBS), known, origin)) {
    const { reservation } = open;
    const found = lists.get(reservation.id);
    if (!found || !ids.has(reservation.id)) continue;
    const { match, candidates } = findCreated(open, found);
    if (!match) {
      unexplained.push({ ...open, candidates });
      continue;
    }
    const { key, id, data } = reservation;
    const fields = { key, of: id, object: match.cron_job_id, data: adoptedData(data, match, data) };
    await log.append([log.newRecord('cron.created', fields)]);
    known.add(match.cron_job_id);
    adopted.push({ reservation, status: 'adopted', cron_job_id: match.cron_job_id, candidates: [] });
  }
  return { adopted, unexplained };
}

/**
 * Settles the reservations with an unknown outcome by looking for their jobs in the service's list. What the list does not
 * explain is looked for again after a lease: until then, its owner may send, and the service may not list it yet.
 * @returns the outcome of each that was open; those that stay open are `unknown`
 * @throws NotFoundError when the state does not know the key; PartnerctlError when the list cannot be read; LocalError when the
 *   state cannot be read or written
 */
export async function reconcileJobs(
  deps: ReconcileDeps,
  { key, assumeNotCreated }: ReconcileOptions,
): Promise<readonly Reconciled[]> {
  const { log, origin, confirm, onWait } = deps;
  const all = standings(await log.read(), JOBS);
  if (key !== undefined && !all.has(key)) throw unknownKeyError(key);
  const reservations = [...all.values()].flatMap(({ open }) => open).filter(({ data }) => data.origin === origin);
  const wanted = reservations.filter((each) => key === undefined || each.key === key);
  if (wanted.length === 0) return [];
  const first = await look(deps, wanted);
  const missing = first.unexplained.filter(({ candidates }) => candidates.length === 0);
  const open = await outlive(deps, JOBS, new Set(missing.map(({ reservation }) => reservation.id)), { onWait });
  const second = open.length === 0 ? { adopted: [], unexplained: [] } : await look(deps, open);
  const several = first.unexplained.filter(({ candidates }) => candidates.length > 0);
  const results: Reconciled[] = [...first.adopted, ...second.adopted];
  for (const { reservation, candidates, isGuarded } of [...several, ...second.unexplained]) {
    const isMissing = candidates.length === 0;
    const isReleased = isMissing && (isGuarded || assumeNotCreated || ((await confirm?.(reservation)) ?? false));
    if (isReleased) {
      await log.append([log.newRecord('cron.released', { key: reservation.key, of: reservation.id })]);
    }
    results.push({ reservation, status: isReleased ? 'released' : 'unknown', cron_job_id: null, candidates });
  }
  // In the order of the log.
  const order = new Map(wanted.map(({ id }, index) => [id, index]));
  return results.toSorted((a, b) => (order.get(a.reservation.id) ?? 0) - (order.get(b.reservation.id) ?? 0));
}
