import { isWithoutId, PartnerctlError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { outlive } from '../state/lease.ts';
import type { Log } from '../state/log.ts';
import { standings } from '../state/standing.ts';
import { findCreated, type OpenJob, openJobs } from './find-created.ts';
import { findScheduleGap, type ListedJob } from './listed-job.ts';
import type { CreateOutcome } from './outcomes.ts';
import { adoptedData, JOBS, type JobReservation, unknownKeyError } from './recorded-job.ts';
import { findInList, type JobList, type JobLists } from './service-jobs.ts';

/** Records that a listed job is the one of a reservation. */
async function adopt(log: Log, { key, id: of, data }: JobReservation, listed: ListedJob): Promise<void> {
  const fields = { key, of, object: listed.cron_job_id, data: adoptedData(data, listed, data) };
  await log.append([log.newRecord('cron.created', fields)]);
}

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
  /** Reads the list as it is now. @throws PartnerctlError when it cannot be read */
  readonly readList: () => Promise<JobList>;
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
async function look({ log, origin, readList }: ReconcileDeps, wanted: readonly JobReservation[]): Promise<Look> {
  const ids = new Set(wanted.map(({ id }) => id));
  const list = await readList();
  const taken = new Set<string>();
  const adopted: Reconciled[] = [];
  const unexplained: (OpenJob & { candidates: readonly string[] })[] = [];
  for (const each of openJobs(await log.read(), origin)) {
    const { reservation } = each;
    if (!ids.has(reservation.id)) continue;
    const open = { ...each, recorded: new Set([...each.recorded, ...taken]) };
    const { match, candidates } = findCreated(open, findInList(list, reservation.data));
    if (!match) {
      unexplained.push({ ...open, candidates });
      continue;
    }
    await adopt(log, reservation, match);
    taken.add(match.cron_job_id);
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

/** How long to look for a new job whose response tells no id, and how long to wait before the second look. */
const LOOK_UP_MS = 10_000;
const FIRST_WAIT_MS = 250;

interface LookUpDeps extends Pick<ReconcileDeps, 'origin' | 'log' | 'clock' | 'signal'> {
  readonly lists: JobLists;
  readonly onWait?: ((ms: number) => void) | undefined;
}

async function findOne(
  { clock, signal, onWait, log, origin, lists }: LookUpDeps,
  { id, data }: JobReservation,
  error: unknown,
): Promise<ListedJob | undefined> {
  const start = clock.monotonic();
  for (let waitMs = FIRST_WAIT_MS; ; waitMs *= 2) {
    const list = await lists.anew();
    const open = openJobs(await log.read(), origin).find(({ reservation }) => reservation.id === id);
    const match = open && findCreated(open, findInList(list, data)).match;
    // Only a service that accepted the request is worth waiting for.
    const isPointless = list.kind === 'closed' || !isWithoutId(error);
    if (match || isPointless || clock.monotonic() - start + waitMs > LOOK_UP_MS) return match;
    onWait?.(waitMs);
    await clock.sleep(waitMs, signal);
  }
}

/**
 * Looks in the list for the job of a request whose outcome has just become unknown, and records it.
 * @param error the failure of the request
 * @returns undefined if it is not certain which it is, or if the list or the state fails
 */
export async function lookUp(
  deps: LookUpDeps,
  reservation: JobReservation,
  error: unknown,
): Promise<CreateOutcome | undefined> {
  try {
    const match = await findOne(deps, reservation, error);
    if (!match) return undefined;
    await adopt(deps.log, reservation, match);
    const { key } = reservation;
    const { cron_job_id } = match;
    // A service that accepted the request without telling an id has created this one.
    return isWithoutId(error)
      ? { key, status: 'created', cron_job_id }
      : { key, status: 'adopted', cron_job_id, gap: findScheduleGap(match) };
  } catch (failure) {
    if (failure instanceof PartnerctlError) return undefined;
    throw failure;
  }
}
