import type { Clock } from '../clock.ts';
import type { CronResult } from '../cron/cron-result.ts';
import type { FindJob, FreshJobLists } from '../cron/job-list.ts';
import type { ListedJob } from '../cron/listed-job.ts';
import { DuplicateError, PartnerctlError } from '../errors.ts';

/*
 * A state that other machines do not share cannot keep them from creating the same job at the same time. The service's list
 * shows it afterwards.
 */

/** Looks in the list for second jobs. */
export interface SecondJobCheck {
  /** When the last list began to be read, by the monotonic clock; -Infinity if there is none. */
  readonly readAt: () => number;
  /**
   * Looks in the last list, or in one that is read now.
   * @returns the results, with an error for each job that exists twice
   */
  readonly check: (results: readonly CronResult[], list: 'last' | 'new') => Promise<readonly CronResult[]>;
}

/** Whether this run created the job, and nothing else is wrong with it. */
export function isCreated({ status, error }: CronResult): boolean {
  return status === 'created' && error === undefined;
}

function secondJobError({ job, key, cron_job_id }: CronResult, others: readonly string[]): DuplicateError {
  const ids = [cron_job_id, ...others].join(', ');
  return new DuplicateError(`Job ${JSON.stringify(job.name)} of agent ${job.agent_id} exists more than once: ${ids}.`, {
    why: `This run created ${cron_job_id}. The others were not listed before: another machine created them, with its own state.`,
    hint: 'Delete all but one at the service. To prevent it, let all machines share one state: partnerctl help state',
    details: { cron_job_id, key, reason: 'second', candidates: [cron_job_id, ...others] },
  });
}

export interface CheckDeps {
  readonly lists: FreshJobLists;
  /** Whether a list may be read now. */
  readonly mayRead: () => boolean;
  /** Called for a job that the list shows with another name or agent than it was created with. */
  readonly onShownOtherwise: (result: CronResult, listed: ListedJob) => Promise<void>;
}

/** @param find looks in a list that was read after the job was created */
async function checkResult(
  result: CronResult,
  find: FindJob,
  { onShownOtherwise }: Pick<CheckDeps, 'onShownOtherwise'>,
): Promise<CronResult> {
  const { job, cron_job_id } = result;
  if (!isCreated(result) || cron_job_id === null || job.agent_id === null) return result;
  const found = await find({ agent_id: job.agent_id, name: job.name });
  // Where the list does not have the new job, it may name it by another id.
  if (found.kind === 'closed' || !found.isListed(cron_job_id)) return result;
  const listed = found.byId(cron_job_id);
  const isFound = [...found.same, ...found.maybe].some((each) => each.cron_job_id === cron_job_id);
  if (listed && !isFound) await onShownOtherwise(result, listed);
  const others = found.same.map((listed) => listed.cron_job_id).filter((id) => id !== cron_job_id);
  return others.length === 0 ? result : { ...result, error: secondJobError(result, others) };
}

/** Creates the check. A list that cannot be read, or that does not have the new jobs yet, shows nothing and is no error. */
export function createSecondJobCheck(deps: CheckDeps): SecondJobCheck {
  const { lists, mayRead } = deps;
  return {
    readAt: lists.readAt,
    async check(results, list) {
      if (!results.some(isCreated) || !mayRead()) return results;
      const find = list === 'last' ? lists.findInLast : lists.readAgain();
      try {
        return await Promise.all(results.map((result) => checkResult(result, find, deps)));
      } catch (error) {
        if (error instanceof PartnerctlError) return results;
        throw error;
      }
    },
  };
}

export interface HoldOptions<Result> {
  /** Whether a result has a job that this run created. */
  readonly needsCheck: (result: Result) => boolean;
  readonly readAt: SecondJobCheck['readAt'];
  readonly check: (held: readonly Result[], list: 'last' | 'new') => Promise<readonly Result[]>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/**
 * Yields results after a check in a list that was read after them: one that a later job needed, too, or a last one for all
 * that are left.
 */
export async function* holdForCheck<Result>(
  results: AsyncIterable<Result>,
  { needsCheck, readAt, check, clock }: HoldOptions<Result>,
): AsyncGenerator<Result> {
  let held: { readonly result: Result; readonly at: number }[] = [];
  for await (const result of results) {
    if (!needsCheck(result)) {
      yield result;
      continue;
    }
    held.push({ result, at: clock.monotonic() });
    const isReady = ({ at }: { readonly at: number }): boolean => at < readAt();
    const ready = held.filter(isReady);
    held = held.filter((each) => !ready.includes(each));
    if (ready.length > 0) {
      yield* await check(
        ready.map((each) => each.result),
        'last',
      );
    }
  }
  yield* await check(
    held.map((each) => each.result),
    'new',
  );
}
