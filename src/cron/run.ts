import type { Http } from '../api/http.ts';
import { asSettled } from '../as-settled.ts';
import type { Context } from '../context.ts';
import type { CronJob } from '../domain/cron/job.ts';
import { BalanceError, CredentialsError } from '../errors.ts';
import { hasEnded, thisProcess } from '../state/owner.ts';
import { randomRecordId } from '../state/record.ts';
import { createOnce, type GuardParts } from './create-once.ts';
import { failureOf } from './failure.ts';
import { openLedger } from './ledger.ts';
import { type CronResult, untouched } from './result.ts';
import { openServiceJobs } from './service-jobs.ts';

/** A job to be created, and where it stands in the input. */
export interface WantedJob {
  readonly index: number;
  readonly source: string | undefined;
  readonly job: CronJob;
}

export interface CreateOptions {
  /** Whether a job that is there already is what is wanted. */
  readonly ensure: boolean;
  /** Whether nothing is to be written, here or there. */
  readonly dryRun: boolean;
}

const AT_ONCE = 4;

/** What guarding creations needs, for all the jobs of a command. */
async function guardParts(context: Context, http: Http, wanted: readonly WantedJob[]): Promise<GuardParts> {
  const { clock, ended } = context;
  const service = openServiceJobs(
    http,
    wanted.map(({ job }) => job),
    clock,
    (error) =>
      context.warn(
        `which jobs the service has cannot be read (${error.message}) The state file alone guards against creating one twice.`,
      ),
  );
  return {
    origin: http.baseUrl,
    ledger: await openLedger(context),
    clock,
    newId: randomRecordId,
    owner: await thisProcess(),
    hasEnded,
    find: service.find,
    post: service.post,
    patienceMs: () => http.patienceMs(),
    ended,
  };
}

/** Whether the next job would be answered in the same way. */
function endsRun(error: unknown): boolean {
  return error instanceof BalanceError || (error instanceof CredentialsError && error.facts.status === 401);
}

/**
 * Creates jobs, each at most once, some at a time, and yields each result as it is there. Failures are results; nothing
 * is thrown. Once it has begun it goes on to the end, also when nobody reads the results any more.
 */
export async function* createJobs(
  context: Context,
  http: Http,
  wanted: readonly WantedJob[],
  options: CreateOptions,
): AsyncGenerator<CronResult> {
  const { default: pLimit } = await import('p-limit');
  const limit = pLimit(AT_ONCE);
  const parts = await guardParts(context, http, wanted);
  let stopped = false;

  async function one(each: WantedJob): Promise<CronResult> {
    const before = await untouched(each, http.baseUrl, context.clock.now());
    if (stopped || context.signals.interrupt.aborted) return before;
    try {
      const outcome = await createOnce(each.job, parts, options);
      const error = failureOf(outcome, { job: each.job, flags: context.flags });
      stopped ||= endsRun(error);
      return {
        ...before,
        status: outcome.status,
        cron_job_id: 'cron_job_id' in outcome ? outcome.cron_job_id : null,
        differences: outcome.status === 'blocked' ? (outcome.differences ?? []) : [],
        error,
      };
    } catch (error) {
      stopped ||= endsRun(error);
      return { ...before, status: 'failed', error };
    }
  }
  yield* asSettled(wanted.map((each) => limit(() => one(each))));
}
