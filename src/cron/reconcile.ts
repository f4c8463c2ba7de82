import type { ListedCronJob } from '../contract/cron.ts';
import { isWithoutId, PartnerctlError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { waitOutLeases } from '../state/lease.ts';
import type { Log } from '../state/log.ts';
import { standings } from '../state/standing.ts';
import { findDifferences, JOBS, type JobReservation, matchIdentity, openReservations, recordedIds } from './job.ts';
import { type JobOutcome, outcome } from './outcomes.ts';
import { completeSchedule } from './schedule.ts';
import { findInList, type JobList, type JobLists } from './service-jobs.ts';

/** Whether a listed job may be the one posted for a reservation. Missing fields count as equal. */
function mayBelongTo(listed: ListedCronJob, { data }: JobReservation): boolean {
  return matchIdentity(listed, data.agent_id, data.name) !== 'no' && findDifferences(listed, data).length === 0;
}

/**
 * Finds the job that a request created whose response was lost: the one job of this agent and name that is not
 * recorded and was not there before. Never guesses among several.
 * @param open all open reservations
 * @param recorded ids of jobs that other requests created
 * @returns the one that it is, or else all that it may be
 */
function findCreated(
  reservation: JobReservation,
  open: readonly JobReservation[],
  list: JobList,
  recorded: ReadonlySet<string>,
): { readonly match: ListedCronJob | undefined; readonly candidates: readonly string[] } {
  const { key, data, seen } = reservation;
  const { same, maybe } = findInList(list, data);
  const found = [...same, ...maybe].filter(({ cron_job_id: id }) => !recorded.has(id) && !seen?.includes(id));
  const [only, ...more] = found;
  const others = open.filter((other) => other.key !== key || findDifferences(other.data, data).length > 0);
  const isMatch =
    only !== undefined &&
    more.length === 0 &&
    mayBelongTo(only, reservation) &&
    !others.some((other) => mayBelongTo(only, other)) &&
    // Without its agent, only one that is new can be told from those of others.
    (same.includes(only) || seen !== undefined);
  return { match: isMatch ? only : undefined, candidates: found.map(({ cron_job_id }) => cron_job_id) };
}

/** Records that a listed job is the one of a reservation. */
async function adopt(log: Log, { key, id: of, data }: JobReservation, { cron_job_id }: ListedCronJob): Promise<void> {
  await log.append([log.newRecord('cron.created', { key, of, object: cron_job_id, data })]);
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

/**
 * Looks for the jobs of open reservations in the list, and adopts those that are certain; the others stay unknown. Reads the log
 * after the list: every listed job was reserved before it was created.
 */
async function matchListed(
  { log, origin, readList }: ReconcileDeps,
  ids: ReadonlySet<string>,
): Promise<readonly Reconciled[]> {
  const list = await readList();
  const records = await log.read();
  const recorded = new Set(recordedIds(records, origin));
  const results: Reconciled[] = [];
  const open = openReservations(standings(records, JOBS), origin);
  for (const reservation of open.filter(({ id }) => ids.has(id))) {
    const { match, candidates } = findCreated(reservation, open, list, recorded);
    if (!match) results.push({ reservation, status: 'unknown', cron_job_id: null, candidates });
    else {
      const { cron_job_id } = match;
      await adopt(log, reservation, match);
      recorded.add(cron_job_id);
      results.push({ reservation, status: 'adopted', cron_job_id, candidates: [] });
    }
  }
  return results;
}

/**
 * Resolves the reservations with an unknown outcome by looking for their jobs in the service's list. What the list does not
 * explain is looked for again after a lease: until then, its owner may send, and the service may not list it yet.
 * @param assumeNotCreated whether to treat jobs that are not listed as not created
 * @returns the outcome of each that was open; those that stay open are `unknown`
 * @throws PartnerctlError if the list cannot be read; LocalError if the state cannot be read or written
 */
export async function reconcileJobs(deps: ReconcileDeps, assumeNotCreated: boolean): Promise<readonly Reconciled[]> {
  const { log, origin, confirm, onWait } = deps;
  const wanted = openReservations(standings(await log.read(), JOBS), origin);
  if (wanted.length === 0) return [];
  const isMissing = ({ status, candidates }: Reconciled) => status === 'unknown' && candidates.length === 0;
  const first = await matchListed(deps, new Set(wanted.map(({ id }) => id)));
  const missing = first.filter(isMissing).map(({ reservation }) => reservation.id);
  const open = await waitOutLeases(deps, JOBS, new Set(missing), { onWait });
  const second = open.length === 0 ? [] : await matchListed(deps, new Set(open.map(({ id }) => id)));
  const results: Reconciled[] = first.filter((found) => !isMissing(found));
  for (const found of second) {
    const { reservation } = found;
    const isReleased = isMissing(found) && (assumeNotCreated || ((await confirm?.(reservation)) ?? false));
    if (isReleased) await log.append([log.newRecord('cron.released', { key: reservation.key, of: reservation.id })]);
    results.push(isReleased ? { ...found, status: 'released' } : found);
  }
  return results;
}

/**
 * Looks in the list for the job of a request whose outcome has just become unknown, and records it.
 * @param error the failure of the request
 * @returns undefined if it is not certain which it is, or if the list or the state fails
 */
export async function findLostJob(
  { log, origin, lists }: { readonly log: Log; readonly origin: string; readonly lists: JobLists },
  reservation: JobReservation,
  error: unknown,
): Promise<JobOutcome | undefined> {
  try {
    const list = await lists.anew();
    const records = await log.read();
    const open = openReservations(standings(records, JOBS), origin);
    if (list.kind === 'closed' || !open.some(({ id }) => id === reservation.id)) return undefined;
    const { match } = findCreated(reservation, open, list, recordedIds(records, origin));
    if (!match) return undefined;
    await adopt(log, reservation, match);
    const { cron_job_id } = match;
    // A service that accepted the request without telling an id has created this one.
    if (isWithoutId(error)) return outcome('created', { cron_job_id });
    return outcome('adopted', { cron_job_id, isScheduleUnknown: !completeSchedule(match.schedule) });
  } catch (failure) {
    if (failure instanceof PartnerctlError) return undefined;
    throw failure;
  }
}
