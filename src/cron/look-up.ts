import { isWithoutId, PartnerctlError } from '../errors.ts';
import { standings } from '../state/standing.ts';
import type { CreateDeps } from './create.ts';
import { findCreated, openJobs } from './find-created.ts';
import type { CronJob } from './job.ts';
import { adoptedData, JOBS, type JobReservation, recordedIds } from './jobs.ts';
import { findScheduleGap, type ListedJob } from './listed-job.ts';
import type { CreateOutcome } from './outcomes.ts';

/** How long to look for a new job whose response tells no id, and how long to wait before the second look. */
const LOOK_UP_MS = 10_000;
const FIRST_WAIT_MS = 250;

interface Unknown {
  readonly reservation: JobReservation;
  readonly error: unknown;
}

async function findInList(
  deps: CreateDeps,
  job: CronJob,
  { reservation, error }: Unknown,
): Promise<ListedJob | undefined> {
  const { clock, signal, onWait, log, origin, findAnew } = deps;
  const start = clock.monotonic();
  for (let waitMs = FIRST_WAIT_MS; ; waitMs *= 2) {
    const found = await findAnew()(job);
    const records = await log.read();
    const all = openJobs(standings(records, JOBS), recordedIds(records, origin), origin);
    const open = all.find((each) => each.reservation.id === reservation.id);
    const match = open && findCreated(open, found).match;
    // Only a service that accepted the request is worth waiting for.
    const isPointless = found.kind === 'closed' || !isWithoutId(error);
    if (match || isPointless || clock.monotonic() - start + waitMs > LOOK_UP_MS) return match;
    onWait?.(waitMs);
    await clock.sleep(waitMs, signal);
  }
}

/**
 * Looks in the list for the job of a request whose outcome is unknown, and records it.
 * @returns undefined if it is not certain which it is, or if the list or the state fails
 */
export async function lookUp(deps: CreateDeps, job: CronJob, unknown: Unknown): Promise<CreateOutcome | undefined> {
  const { key, id: of, data } = unknown.reservation;
  try {
    const match = await findInList(deps, job, unknown);
    if (!match) return undefined;
    const { cron_job_id } = match;
    const fields = { key, of, object: cron_job_id, data: adoptedData(data, match, data) };
    await deps.log.append([deps.log.newRecord('cron.created', fields)]);
    // A service that accepted the request without telling an id has created this one.
    return isWithoutId(unknown.error)
      ? { key, status: 'created', cron_job_id }
      : { key, status: 'adopted', cron_job_id, gap: findScheduleGap(match) };
  } catch (error) {
    if (error instanceof PartnerctlError) return undefined;
    throw error;
  }
}
