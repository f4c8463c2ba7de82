import { createCronJob, listCronJobs } from '../api/cron-jobs.ts';
import type { Http } from '../api/http.ts';
import { mapConcurrent } from '../api/map-concurrent.ts';
import type { Context } from '../cli/context.ts';
import { isBalanceTooLow, isTokenRejected } from '../errors.ts';
import { toLogRecord } from '../state/ledger.ts';
import { describeThisProcess, hasEnded } from '../state/owner.ts';
import { randomRecordId } from '../state/record.ts';
import { writeRecovery } from '../state/recovery.ts';
import { type CreateOnceOptions, type CronDeps, createOnce } from './create-once.ts';
import { type CronResult, initialResult } from './cron-result.ts';
import { type CronJob, cronKey } from './job.ts';
import { createJobFinder } from './job-list.ts';
import { JOB_RECORDS } from './job-records.ts';
import { openJobLedger } from './ledger.ts';
import { outcomeError } from './outcome-error.ts';

/** A job to create, and where it is in the input. */
export interface WantedJob {
  readonly index: number;
  readonly source: string | undefined;
  readonly job: CronJob;
}

type JobName = Pick<CronJob, 'name'>;

/** Creates one job, at most once. Failures are results; it does not throw. */
export type CreateJob = (wanted: WantedJob) => Promise<CronResult>;

const CONCURRENCY = 4;

/** Tells the user what Ctrl-C waits for while the request is in flight. */
async function explainInterrupt(context: Context, posting: Promise<string>): Promise<string> {
  const { interrupt } = context.signals;
  const explain = (): void => {
    void context.notice(
      'The request was sent. Waiting briefly for the response, so that the id of the job is not lost. If you press Ctrl-C again, run `partnerctl cron reconcile` to find out whether the job exists.',
    );
  };
  interrupt.addEventListener('abort', explain, { once: true });
  try {
    return await posting;
  } finally {
    interrupt.removeEventListener('abort', explain);
  }
}

/** Creates the dependencies of `createOnce`, which all jobs of a command share. */
async function openDeps(
  context: Context,
  http: Http,
  wanted: readonly JobName[],
  warnedLines?: Set<number>,
): Promise<CronDeps> {
  const { clock, abortSignal } = context;
  const statePath = await context.statePath();
  const find = createJobFinder({
    list: () => listCronJobs(http),
    wanted,
    clock,
    onUnavailable: (error) =>
      context.warn(`The list of jobs cannot be read: ${error.message} Only the state file prevents duplicates.`),
  });
  return {
    origin: http.baseUrl,
    ledger: await openJobLedger(context, warnedLines),
    writeRecovery: (record) => writeRecovery(statePath, toLogRecord(record, JOB_RECORDS)),
    clock,
    newId: randomRecordId,
    owner: await describeThisProcess(),
    hasEnded,
    find,
    post: (job, timeoutMs) => explainInterrupt(context, createCronJob(http, job, timeoutMs)),
    remainingMs: () => http.remainingMs(),
    abortSignal,
  };
}

/** Whether every further job would fail the same way. */
function endsRun(error: unknown): boolean {
  return isBalanceTooLow(error) || isTokenRejected(error);
}

async function startResult(wanted: WantedJob, http: Http, context: Context): Promise<CronResult> {
  const { agent_id, name } = wanted.job;
  return await initialResult({ ...wanted, key: cronKey(http.baseUrl, agent_id, name) }, context.clock.now());
}

/**
 * Prepares the creation of all jobs of a command. The service's list is read at most once.
 * @param names the names of all jobs that may be created
 * @param warnedLines the numbers of the state file's lines that the user was already warned about
 */
export async function openJobCreator(
  context: Context,
  http: Http,
  names: readonly JobName[],
  options: CreateOnceOptions,
  warnedLines?: Set<number>,
): Promise<CreateJob> {
  const deps = await openDeps(context, http, names, warnedLines);
  return async (wanted) => {
    const { job } = wanted;
    const initial = await startResult(wanted, http, context);
    try {
      const outcome = await createOnce(job, deps, options);
      return {
        ...initial,
        status: outcome.status,
        cron_job_id: 'cron_job_id' in outcome ? outcome.cron_job_id : null,
        differences: outcome.status === 'blocked' ? (outcome.differences ?? []) : [],
        error: outcomeError(outcome, { job, flags: context.flags }),
      };
    } catch (error) {
      return { ...initial, status: 'failed', error };
    }
  };
}

/**
 * Creates jobs, each at most once and several at a time, and yields each result when it is known. Failures are results; it
 * does not throw. Once started it runs to the end, even when nobody reads the results anymore.
 */
export async function* createJobs(
  context: Context,
  http: Http,
  wanted: readonly WantedJob[],
  options: CreateOnceOptions,
): AsyncGenerator<CronResult> {
  const names = wanted.map(({ job }) => job);
  const create = await openJobCreator(context, http, names, options);
  let stopped = false;

  async function createOne(each: WantedJob): Promise<CronResult> {
    if (stopped || context.signals.interrupt.aborted) return await startResult(each, http, context);
    const result = await create(each);
    stopped ||= endsRun(result.error);
    return result;
  }
  yield* mapConcurrent(wanted, CONCURRENCY, createOne);
}
