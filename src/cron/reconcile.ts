import { isUnexpectedShape, OutcomeUnknownError, PartnerctlError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { waitOutLeases } from '../state/lease.ts';
import type { Log } from '../state/log.ts';
import { findDifferences, JOBS, type JobReservation, jobsInLog, matchIdentity } from './job.ts';
import { type JobOutcome, outcome } from './outcomes.ts';
import { completeSchedule } from './schedule.ts';
import { findInList, type JobList, type JobLists } from './service-jobs.ts';

export interface Reconciled {
  readonly reservation: JobReservation;
  /** `released`: treated as not created. */
  readonly status: 'adopted' | 'released' | 'unknown';
  readonly cron_job_id: string | null;
  /** If it is unknown, the listed jobs that may be the reserved one. */
  readonly candidates: readonly string[];
}

/**
 * Finds the job that a request created whose response was lost: the one job of this agent and name that is not recorded
 * and was not there before. Never guesses among several.
 */
function findCreated(
  reservation: JobReservation,
  open: readonly JobReservation[],
  list: JobList,
  recorded: ReadonlySet<unknown>,
): Reconciled {
  const { key, data, seen } = reservation;
  const { same, maybe } = findInList(list, data);
  const found = [...same, ...maybe].filter(({ cron_job_id: id }) => !recorded.has(id) && !seen?.includes(id));
  const candidates = found.map(({ cron_job_id }) => cron_job_id);
  const unknown = { reservation, status: 'unknown', cron_job_id: null, candidates } as const;
  const [only, ...more] = found;
  // Without its agent, only one that is new can be told from those of others.
  if (!only || more.length > 0 || !(same.includes(only) || seen !== undefined)) return unknown;
  // What the list does not show counts as equal.
  const mayBelongTo = (other: JobReservation) =>
    matchIdentity(only, other.data.agent_id, other.data.name) !== 'no' &&
    findDifferences(only, other.data).length === 0;
  const others = open.filter((other) => other.key !== key || findDifferences(other.data, data).length > 0);
  if (!mayBelongTo(reservation) || others.some(mayBelongTo)) return unknown;
  return { reservation, status: 'adopted', cron_job_id: only.cron_job_id, candidates: [] };
}

interface StateDeps {
  readonly log: Log;
  readonly origin: string;
}

/**
 * Looks for the jobs of reservations that are still open in a list, and adopts those that are certain; the others stay
 * unknown. Reads the log after the list: every listed job was reserved before it was created.
 */
async function matchListed(
  { log, origin }: StateDeps,
  list: JobList,
  reservations: readonly JobReservation[],
): Promise<readonly Reconciled[]> {
  const wanted = new Set(reservations.map(({ id }) => id));
  const { open, recorded: before } = jobsInLog(await log.read(), origin);
  const recorded = new Set(before);
  const results: Reconciled[] = [];
  for (const reservation of open.filter(({ id }) => wanted.has(id))) {
    const found = findCreated(reservation, open, list, recorded);
    const { cron_job_id: object } = found;
    const { key, id: of, data } = reservation;
    if (object !== null) await log.append([log.newRecord('cron.created', { key, of, object, data })]);
    recorded.add(object);
    results.push(found);
  }
  return results;
}

export interface ReconcileDeps extends StateDeps {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly lists: Pick<JobLists, 'whole'>;
  /** Whether to treat a job that is not listed as not created. */
  readonly isNotCreated: (reservation: JobReservation) => Promise<boolean>;
  /** Called before a wait, with the milliseconds that it may take. */
  readonly onWait: (leftMs: number) => void;
}

/**
 * Resolves the reservations with an unknown outcome by looking for their jobs in the service's list. What the list does
 * not explain is looked for again after a lease: until then, its owner may send, and the service may not list it yet.
 * @returns the outcome of each that was open
 * @throws PartnerctlError if the list cannot be read; LocalError if the state cannot be read or written
 */
export async function reconcileJobs(deps: ReconcileDeps): Promise<readonly Reconciled[]> {
  const { log, origin, lists, isNotCreated, onWait } = deps;
  const isMissing = ({ status, candidates }: Reconciled) => status === 'unknown' && candidates.length === 0;
  const { open: wanted } = jobsInLog(await log.read(), origin);
  const first = wanted.length === 0 ? [] : await matchListed(deps, await lists.whole(), wanted);
  const missing = first.filter(isMissing).map(({ reservation }) => reservation.id);
  const left = await waitOutLeases(deps, JOBS, new Set(missing), { onWait });
  const second = left.length === 0 ? [] : await matchListed(deps, await lists.whole(), left);
  const results = first.filter((found) => !isMissing(found));
  for (const found of second) {
    const { key, id: of } = found.reservation;
    const isReleased = isMissing(found) && (await isNotCreated(found.reservation));
    if (isReleased) await log.append([log.newRecord('cron.released', { key, of })]);
    results.push(isReleased ? { ...found, status: 'released' } : found);
  }
  return results;
}

/** Looks in the list for the job of a failed request, and records it; undefined if that fails or is not certain. */
export async function findLostJob(
  deps: StateDeps & { readonly lists: JobLists },
  reservation: JobReservation,
  error: unknown,
): Promise<JobOutcome | undefined> {
  try {
    const list = await deps.lists.whole();
    const [found] = await matchListed(deps, list, [reservation]);
    if (!found?.cron_job_id) return undefined;
    const { cron_job_id } = found;
    // A service that accepted the request without telling an id has created this one.
    const isWithoutId = isUnexpectedShape(error instanceof OutcomeUnknownError ? error.cause : error);
    if (isWithoutId) return outcome('created', { cron_job_id });
    const isScheduleUnknown = !completeSchedule(list.jobs.get(cron_job_id)?.schedule);
    return outcome('adopted', { cron_job_id, isScheduleUnknown });
  } catch (failure) {
    if (failure instanceof PartnerctlError) return undefined;
    throw failure;
  }
}
