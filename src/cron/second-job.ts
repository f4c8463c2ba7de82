import { type Clock, startStopwatch } from '../clock.ts';
import { DuplicateError, PartnerctlError } from '../errors.ts';
import type { CronResult } from './cron-result.ts';
import type { FindJob } from './job-list.ts';

/*
 * A state that other machines do not share cannot keep them from creating the same job at the same time. The service's list
 * shows it afterwards.
 */

/** Looks in the list for second jobs. @returns the results, with an error for each job that exists twice */
export type CheckResults = (results: readonly CronResult[]) => Promise<readonly CronResult[]>;

/** Whether this run created the job, and nothing else is wrong with it. */
export function isCreated({ status, error }: CronResult): boolean {
  return status === 'created' && error === undefined;
}

function secondJobError({ job, key, cron_job_id }: CronResult, others: readonly string[]): DuplicateError {
  const ids = [cron_job_id, ...others].join(', ');
  return new DuplicateError(`Job ${JSON.stringify(job.name)} of agent ${job.agent_id} exists more than once: ${ids}.`, {
    why: `This run created ${cron_job_id}. The others were not listed before: another machine created them, with a state of its own.`,
    hint: 'Delete all but one at the service. To prevent it, let all machines share one state: partnerctl help state',
    details: { cron_job_id, key, reason: 'second', candidates: [cron_job_id, ...others] },
  });
}

/** @param find looks in a list that was read after the job was created */
async function checkResult(result: CronResult, find: FindJob): Promise<CronResult> {
  const { job, cron_job_id } = result;
  if (!isCreated(result) || cron_job_id === null || job.agent_id === null) return result;
  const found = await find({ agent_id: job.agent_id, name: job.name });
  // Where the list does not have the new job, it may name it by another id.
  if (found.kind === 'closed' || !found.isListed(cron_job_id)) return result;
  const others = found.same.map((listed) => listed.cron_job_id).filter((id) => id !== cron_job_id);
  return others.length === 0 ? result : { ...result, error: secondJobError(result, others) };
}

/**
 * Creates the check. A list that cannot be read, or that does not have the new jobs yet, shows nothing and is no error.
 * @param newFinder returns a function that looks in the list as it is from now on; undefined if there is no list to read
 */
export function createSecondJobCheck(newFinder: () => FindJob | undefined): CheckResults {
  return async (results) => {
    const find = results.some(isCreated) ? newFinder() : undefined;
    if (!find) return results;
    try {
      return await Promise.all(results.map((result) => checkResult(result, find)));
    } catch (error) {
      if (error instanceof PartnerctlError) return results;
      throw error;
    }
  };
}

/** How long results may wait for the list, and how many times as long as reading the list takes. */
const HOLD_MS = 2_000;
const HOLD_FACTOR = 5;

/**
 * Yields results after a check that reads the list, which is done for many at a time.
 * @param needsCheck whether a result has a job that this run created
 */
export async function* checkTogether<Result>(
  results: AsyncIterable<Result>,
  needsCheck: (result: Result) => boolean,
  check: (held: readonly Result[]) => Promise<readonly Result[]>,
  clock: Pick<Clock, 'now' | 'monotonic'>,
): AsyncGenerator<Result> {
  let held: Result[] = [];
  let sinceCheck = startStopwatch(clock);
  let holdMs = HOLD_MS;
  for await (const result of results) {
    if (!needsCheck(result)) {
      yield result;
      continue;
    }
    held.push(result);
    if (sinceCheck() < holdMs) continue;
    const reading = startStopwatch(clock);
    yield* await check(held);
    held = [];
    holdMs = Math.max(HOLD_MS, HOLD_FACTOR * reading());
    sinceCheck = startStopwatch(clock);
  }
  yield* await check(held);
}
