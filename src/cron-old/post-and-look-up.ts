import { startStopwatch } from '../clock.ts';
import { type CronJob, cronKey } from '../cron/job.ts';
import type { FindJob } from '../cron/job-list.ts';
import { isWithoutId, PartnerctlError } from '../errors.ts';
import type { CronDeps } from './create-outcome.ts';
import { findReservedJob, openJobs } from './reconcile.ts';

/** How long to look for a new job, and how long to wait before the second look. Each wait is twice as long. */
const LOOK_UP_MS = 10_000;
const FIRST_WAIT_MS = 250;

export interface LookUpDeps extends Pick<CronDeps, 'origin' | 'ledger' | 'clock' | 'onWait' | 'abortSignal'> {
  /** Returns a function that looks in the list as it is from now on. */
  readonly newFinder: () => FindJob;
}

/** Looks for the job of the reservation that this process has made. @returns its id; undefined if that is not certain */
async function lookUpCreated(job: CronJob, deps: LookUpDeps): Promise<string | undefined> {
  const { origin, ledger, clock, abortSignal, onWait, newFinder } = deps;
  const key = cronKey(origin, job.agent_id, job.name);
  const elapsed = startStopwatch(clock);
  for (let waitMs = FIRST_WAIT_MS; ; waitMs *= 2) {
    const found = await newFinder()(job);
    const reserved = openJobs(await ledger.readAll(), origin).find(({ reservation }) => reservation.key === key);
    const listed = reserved && findReservedJob(reserved, found);
    if (listed) return listed.cron_job_id;
    if (found.kind === 'closed' || elapsed() + waitMs > LOOK_UP_MS) return undefined;
    onWait?.(waitMs);
    await clock.sleep(waitMs, abortSignal);
  }
}

/**
 * Creates a job by `post`, and looks up its id in the service's list if the response does not tell it.
 * @throws the error of `post`, also if the list does not tell the id: OutcomeUnknownError
 */
export async function postAndLookUp(job: CronJob, post: () => Promise<string>, deps: LookUpDeps): Promise<string> {
  try {
    return await post();
  } catch (error) {
    if (!isWithoutId(error)) throw error;
    const id = await lookUpCreated(job, deps).catch((failure: unknown) => {
      if (!(failure instanceof PartnerctlError)) throw failure;
    });
    if (id === undefined) throw error;
    return id;
  }
}
