import { isUnexpectedShape, OutcomeUnknownError, PartnerctlError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { groupBy } from '../platform/group-by.ts';
import { waitOutLeases } from '../state/lease.ts';
import type { Log } from '../state/log.ts';
import type { Lost } from '../state/reserve-and-send.ts';
import {
  findDifferences,
  JOB_KIND,
  type JobData,
  type JobReservation,
  type JobStandings,
  matchIdentity,
  toNfc,
} from './job.ts';
import { findInList, type JobList, type JobLists } from './job-list.ts';
import { comparison, type JobOutcome, outcome } from './outcomes.ts';

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
  sameName: readonly JobReservation[],
  list: JobList,
  isRecorded: (id: string) => boolean,
): Reconciled {
  const { key, data, seen } = reservation;
  const { same, maybe } = findInList(list, data);
  const found = [...same, ...maybe].filter(({ cron_job_id: id }) => !isRecorded(id) && !seen?.includes(id));
  const candidates = found.map(({ cron_job_id }) => cron_job_id);
  const unknown = { reservation, status: 'unknown', cron_job_id: null, candidates } as const;
  const [only, ...more] = found;
  // Without its agent, only one that is new can be told from those of others.
  if (!only || more.length > 0 || !(same.includes(only) || seen !== undefined)) return unknown;
  // What the list does not show counts as equal.
  const mayBelongTo = (other: JobReservation) =>
    matchIdentity(only, other.data.agent_id, other.data.name) !== 'no' &&
    findDifferences(only, other.data).length === 0;
  const others = sameName.filter((other) => other.key !== key || findDifferences(other.data, data).length > 0);
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
  const standings = await log.follow(JOB_KIND)();
  const open = openAt(standings, origin);
  const byName = groupBy(open, ({ data }) => toNfc(data.name));
  const adopted = new Set<string>();
  const isRecorded = (id: string) => adopted.has(id) || standings.dataOf(origin, id) !== undefined;
  const results: Reconciled[] = [];
  for (const reservation of open.filter(({ id }) => wanted.has(id))) {
    const found = findCreated(reservation, byName.get(toNfc(reservation.data.name)) ?? [], list, isRecorded);
    if (found.cron_job_id !== null) adopted.add(found.cron_job_id);
    results.push(found);
  }
  await log.append(
    results.flatMap(({ cron_job_id: object, reservation: { key, id: of, data } }) =>
      object === null ? [] : [log.newRecord('cron.created', { key, of, object, data })],
    ),
  );
  return results;
}

function openAt(standings: JobStandings, origin: string): readonly JobReservation[] {
  return standings.open().filter(({ data }) => data.origin === origin);
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
  const { log, origin, lists, isNotCreated } = deps;
  const isMissing = ({ status, candidates }: Reconciled) => status === 'unknown' && candidates.length === 0;
  const wanted = openAt(await log.follow(JOB_KIND)(), origin);
  const first = wanted.length === 0 ? [] : await matchListed(deps, await lists.whole(), wanted);
  const missing = first.filter(isMissing).map(({ reservation }) => reservation.id);
  const left = await waitOutLeases(deps, JOB_KIND, new Set(missing));
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

/** The outcome of a job whose response was lost, and which the list has. */
function foundOutcome({ error }: Lost<JobData>, cron_job_id: string, list: JobList): JobOutcome {
  // A service that accepted the request without telling an id has created this one.
  const isWithoutId = isUnexpectedShape(error instanceof OutcomeUnknownError ? error.cause : error);
  if (isWithoutId) return outcome('created', { cron_job_id });
  return outcome('adopted', { cron_job_id, isOwn: true, ...comparison(list.jobs.get(cron_job_id)?.schedule) });
}

/**
 * Looks for the jobs of requests that were lost, with one reading of the list, and records those that are certain.
 * @returns their outcomes; none if that fails
 */
export async function findLostJobs(
  deps: StateDeps & { readonly lists: JobLists },
  lost: readonly Lost<JobData>[],
): Promise<ReadonlyMap<Lost<JobData>, JobOutcome>> {
  const outcomes = new Map<Lost<JobData>, JobOutcome>();
  const reservations = lost.map(({ reservation }) => reservation);
  try {
    const list = await deps.lists.whole();
    for (const { reservation, cron_job_id } of await matchListed(deps, list, reservations)) {
      const each = lost.find((other) => other.reservation.id === reservation.id);
      if (each && cron_job_id !== null) outcomes.set(each, foundOutcome(each, cron_job_id, list));
    }
  } catch (failure) {
    if (!(failure instanceof PartnerctlError)) throw failure;
  }
  return outcomes;
}
