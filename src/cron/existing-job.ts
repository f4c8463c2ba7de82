import { InterruptedError, PartnerctlError } from '../errors.ts';
import { keyHistories, stampRecord } from '../state-old/once-records.ts';
import type { CreateOutcome, CreateRequest } from './create-outcome.ts';
import { findDifferences, toNfc } from './job.ts';
import { hasOtherContent, listedSnapshot, type RecordedJob, recordedIds } from './job-records.ts';
import { findScheduleGap, type ListedJob, matchContent, type ScheduleGap } from './listed-job.ts';

/*
 * Decides what it means for the creation of a job that the state or the service's list has one like it.
 */

/** How long a service may take to list a new job. */
export const LISTED_WITHIN_MS = 60_000;

/** How long this process itself must see a job missing from the list until the job counts as gone. */
const MISSING_FOR_MS = 10_000;

/**
 * Whether the service no longer lists a recorded job; false if the list cannot be read. The time of the record may be
 * wrong, so this process itself must see the job missing for a while. A dry run looks once.
 */
async function isGone({ job, deps, dryRun }: CreateRequest, { remoteId, at }: RecordedJob): Promise<boolean> {
  const { clock, find, abortSignal, onWait } = deps;
  if (clock.now() < Date.parse(at) + LISTED_WITHIN_MS) return false;
  const first = await find(job);
  // By id: the job still exists if it was renamed.
  if (first.kind === 'closed' || first.isListed(remoteId)) return false;
  if (dryRun) return true;
  const until = first.at + MISSING_FOR_MS;
  onWait?.(until - clock.monotonic());
  while (clock.monotonic() < until) await clock.sleep(until - clock.monotonic(), abortSignal);
  const second = await find(job);
  return second.kind === 'read' && second.at >= until && !second.isListed(remoteId);
}

/** A recorded job as the service lists it; undefined if it does not, or if the list cannot be read. */
async function findListed({ job, deps }: CreateRequest, remoteId: string): Promise<ListedJob | undefined> {
  try {
    const found = await deps.find(job);
    return found.kind === 'read' ? found.byId(remoteId) : undefined;
  } catch (error) {
    // That the job exists is known without the list.
    if (error instanceof PartnerctlError && !(error instanceof InterruptedError)) return undefined;
    throw error;
  }
}

function differentFrom({ job }: CreateRequest, listed: ListedJob) {
  return { status: 'blocked', why: 'different', differences: findDifferences(listed, job) } as const;
}

/** The outcome if the state knows the job. @param objects the recorded jobs of the key */
export async function outcomeOfExisting(
  request: CreateRequest,
  objects: readonly RecordedJob[],
): Promise<CreateOutcome | undefined> {
  const { job, key, snapshot, ensure } = request;
  const recorded = objects.findLast((each) => !hasOtherContent(each.snapshot, snapshot)) ?? objects.at(-1);
  if (!recorded) return undefined;
  const base = { key, cron_job_id: recorded.remoteId, since: recorded.at };
  if (hasOtherContent(recorded.snapshot, snapshot)) {
    const { schedule, instructions_hash } = recorded.snapshot;
    const before = { schedule: schedule ?? undefined, instructions_hash: instructions_hash ?? undefined };
    return { ...base, status: 'blocked', why: 'different', differences: findDifferences(before, job) };
  }
  if (ensure && (await isGone(request, recorded))) return { ...base, status: 'blocked', why: 'gone' };
  const isKnown = recorded.snapshot.schedule !== null;
  const listed = isKnown ? undefined : await findListed(request, recorded.remoteId);
  if (listed && matchContent(listed, job) === 'different') return { ...base, ...differentFrom(request, listed) };
  const unknown: ScheduleGap | undefined = isKnown ? undefined : { kind: 'unlisted' };
  const gap = listed ? findScheduleGap(listed) : unknown;
  return ensure ? { ...base, status: 'exists', gap } : { ...base, status: 'blocked', why: 'same', gap };
}

/** Adopts a listed job with this agent and name that has no record in the state file, instead of creating it again. */
export async function outcomeFromList(
  request: CreateRequest,
  same: readonly ListedJob[],
): Promise<CreateOutcome | undefined> {
  const { job, key, deps, dryRun } = request;
  const [listed, ...others] = same;
  if (!listed) return undefined;
  const base = { key, cron_job_id: listed.cron_job_id };
  const candidates = same.map(({ cron_job_id }) => cron_job_id);
  if (others.length > 0) return { key, status: 'blocked', why: 'several', cron_job_id: null, candidates };
  if (!dryRun) {
    await deps.ledger.append({
      kind: 'adopted',
      ...stampRecord(deps),
      key,
      snapshot: listedSnapshot(request.snapshot, listed),
      reservation: null,
      remoteId: listed.cron_job_id,
    });
  }
  if (matchContent(listed, job) === 'different') return { ...base, ...differentFrom(request, listed) };
  return { ...base, status: 'adopted', gap: findScheduleGap(listed) };
}

/**
 * Blocks the job if the service lists a job with the same name, whatever its content, whose agent cannot be read and that has no
 * record in the state file: it may be this job, created before the state file was lost.
 */
export async function ambiguousOutcome(
  request: CreateRequest,
  maybe: readonly ListedJob[],
): Promise<CreateOutcome | undefined> {
  const { job, key, deps } = request;
  const { origin } = deps;
  const similar = maybe.filter((each) => each.name !== undefined);
  if (similar.length === 0) return undefined;
  const histories = [...keyHistories(await deps.ledger.readAll()).values()];
  const recorded = recordedIds(
    histories.flatMap(({ objects }) => objects),
    origin,
  );
  const candidates = similar.map(({ cron_job_id }) => cron_job_id).filter((id) => !recorded.has(id));
  // A job of another agent whose response was lost exists without a record, and accounts for one candidate.
  const reserved = histories.flatMap(({ open }) => open.map(({ reservation }) => reservation.snapshot));
  const rivals = reserved.filter((other) => other.origin === origin && toNfc(other.name) === toNfc(job.name));
  if (candidates.length <= rivals.length) return undefined;
  return { status: 'blocked', key, why: 'ambiguous', cron_job_id: null, candidates };
}
