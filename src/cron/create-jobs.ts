import { createCronJob, listCronJobs } from '../api/cron-jobs.ts';
import type { Http } from '../api/http.ts';
import { mapConcurrent } from '../api/map-concurrent.ts';
import type { Context } from '../cli/context.ts';
import { isBalanceTooLow, isTokenRejected } from '../errors.ts';
import { toLogRecord } from '../state/ledger.ts';
import { hasEnded, thisProcess } from '../state/owner.ts';
import { randomRecordId } from '../state/record.ts';
import { writeRecovery } from '../state/recovery.ts';
import { type CreateOnceOptions, type CronDeps, createOnce } from './create-once.ts';
import { type CronResult, initialResult } from './cron-result.ts';
import { type CronJob, cronKey } from './job.ts';
import { jobFinder } from './job-list.ts';
import { JOB_RECORDS } from './job-records.ts';
import { openJobLedger } from './ledger.ts';
import { outcomeError } from './outcome-error.ts';

/** A job to be created, and where it stands in the input. */
export interface WantedJob {
  readonly index: number;
  readonly source: string | undefined;
  readonly job: CronJob;
}

type JobName = Pick<CronJob, 'name'>;

/** Creates one job, at most once. A failure is in the result; nothing is thrown. */
export type CreateJob = (wanted: WantedJob) => Promise<CronResult>;

const AT_ONCE = 4;

/** Says what an interruption waits for while a job is on its way. */
async function announced(context: Context, posting: Promise<string>): Promise<string> {
  const { interrupt } = context.signals;
  const say = (): void => {
    void context.notice(
      'The request for the job has left; its answer is waited for a moment, so that its id is not lost. After another Ctrl-C, `partnerctl cron reconcile` finds out what became of it.',
    );
  };
  interrupt.addEventListener('abort', say, { once: true });
  try {
    return await posting;
  } finally {
    interrupt.removeEventListener('abort', say);
  }
}

/** What guarding creations needs, for all the jobs of a command. */
async function guardParts(
  context: Context,
  http: Http,
  wanted: readonly JobName[],
  said?: Set<number>,
): Promise<CronDeps> {
  const { clock, abortSignal } = context;
  const statePath = await context.statePath();
  const find = jobFinder({
    list: () => listCronJobs(http),
    wanted,
    clock,
    onUnavailable: (error) =>
      context.warn(
        `which jobs the service has cannot be read (${error.message}) The state file alone guards against creating one twice.`,
      ),
  });
  return {
    origin: http.baseUrl,
    ledger: await openJobLedger(context, said),
    writeRecovery: (record) => writeRecovery(statePath, toLogRecord(record, JOB_RECORDS)),
    clock,
    newId: randomRecordId,
    owner: await thisProcess(),
    hasEnded,
    find,
    post: (job, timeoutMs) => announced(context, createCronJob(http, job, timeoutMs)),
    remainingMs: () => http.remainingMs(),
    abortSignal,
  };
}

/** Whether the next job would be answered in the same way. */
function endsRun(error: unknown): boolean {
  return isBalanceTooLow(error) || isTokenRejected(error);
}

async function before(wanted: WantedJob, http: Http, context: Context): Promise<CronResult> {
  const { agent_id, name } = wanted.job;
  return await initialResult({ ...wanted, key: cronKey(http.baseUrl, agent_id, name) }, context.clock.now());
}

/**
 * Opens what it takes to create jobs, for all those of a command: the service's list is read once.
 * @param names of all the jobs that may follow
 * @param said the lines of the state file that were warned of already
 */
export async function openJobCreator(
  context: Context,
  http: Http,
  names: readonly JobName[],
  options: CreateOnceOptions,
  said?: Set<number>,
): Promise<CreateJob> {
  const parts = await guardParts(context, http, names, said);
  return async (wanted) => {
    const { job } = wanted;
    const nothing = await before(wanted, http, context);
    try {
      const outcome = await createOnce(job, parts, options);
      return {
        ...nothing,
        status: outcome.status,
        cron_job_id: 'cron_job_id' in outcome ? outcome.cron_job_id : null,
        differences: outcome.status === 'blocked' ? (outcome.differences ?? []) : [],
        error: outcomeError(outcome, { job, flags: context.flags }),
      };
    } catch (error) {
      return { ...nothing, status: 'failed', error };
    }
  };
}

/**
 * Creates jobs, each at most once, some at a time, and yields each result as it is there. Failures are results; nothing
 * is thrown. Once it has begun it goes on to the end, also when nobody reads the results any more.
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

  async function one(each: WantedJob): Promise<CronResult> {
    if (stopped || context.signals.interrupt.aborted) return await before(each, http, context);
    const result = await create(each);
    stopped ||= endsRun(result.error);
    return result;
  }
  yield* mapConcurrent(wanted, AT_ONCE, one);
}
