import { createJob } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { emitted } from '../platform/emitted.ts';
import type { Log } from '../state/log.ts';
import type { CronContext } from './context.ts';
import { type CreateDeps, createJobs } from './create.ts';
import type { DescribeSchedule, ScheduleTexts } from './describe-schedule.ts';
import type { CronDifference, CronJob } from './job.ts';
import { type CreateOutcome, outcomeError } from './outcomes.ts';

/** A job to create and its position in the input. */
export interface WantedJob {
  readonly index: number;
  /** Its file and line: `jobs.yaml:3`. */
  readonly source: string | undefined;
  readonly job: CronJob;
}

/** The result of one job of a command. */
export interface CronResult extends Omit<WantedJob, 'job'>, ScheduleTexts {
  /** Its agent has no id until it is installed. */
  readonly job: Omit<CronJob, 'agent_id'> & { readonly agent_id: string | null };
  /** Null if the agent has no id yet. */
  readonly key: string | null;
  readonly status: CreateOutcome['status'];
  readonly cron_job_id: string | null;
  readonly differences: readonly CronDifference[];
  /** Whether the schedule of an existing job could not be compared. It may be another than that of `job`. */
  readonly isScheduleUnknown: boolean;
  readonly error: unknown;
}

/** The result of a job before the command acts on it: `skipped`. @param now milliseconds since 1970 */
export async function initialCronResult(
  wanted: Pick<CronResult, 'index' | 'source' | 'job' | 'key'>,
  now: number,
  describe: DescribeSchedule,
): Promise<CronResult> {
  return {
    ...wanted,
    ...(await describe(wanted.job.schedule, now)),
    status: 'skipped',
    cron_job_id: null,
    differences: [],
    isScheduleUnknown: false,
    error: undefined,
  };
}

/** How a command creates jobs. */
export interface CreateHooks extends Pick<CreateDeps, 'lists' | 'onUnavailable' | 'onWait'> {
  readonly http: Http;
  readonly log: Log;
  readonly describe: DescribeSchedule;
  readonly ensure: boolean;
  readonly dryRun: boolean;
  /** Called with each request that is sent. */
  readonly onPost?: (posting: Promise<string>) => void;
}

/** Creates the jobs, and yields each result as soon as it is known. */
export async function* createWanted(
  { clock, abortSignal: signal, command }: CronContext,
  wanted: readonly WantedJob[],
  { http, describe, ensure, dryRun, onPost, ...hooks }: CreateHooks,
): AsyncGenerator<CronResult> {
  const deps: CreateDeps = {
    ...hooks,
    origin: http.baseUrl,
    clock,
    signal,
    async post(job, { timeoutMs, maySend }) {
      const posting = createJob(http, job, { timeoutMs, maySend });
      onPost?.(posting);
      return await posting;
    },
  };
  const jobs = wanted.map(({ job }) => job);
  const outcomes = emitted<[number, CreateOutcome]>((emit) =>
    createJobs(deps, jobs, { ensure, dryRun, onOutcome: (index, outcome) => emit([index, outcome]) }),
  );
  for await (const [index, outcome] of outcomes) {
    const each = wanted[index];
    if (each) {
      yield {
        ...(await initialCronResult({ ...each, key: outcome.key }, clock.now(), describe)),
        status: outcome.status,
        cron_job_id: 'cron_job_id' in outcome ? outcome.cron_job_id : null,
        differences: ('differences' in outcome && outcome.differences) || [],
        isScheduleUnknown: 'isScheduleUnknown' in outcome && outcome.isScheduleUnknown === true,
        error: outcomeError(outcome, { job: each.job, command }),
      };
    }
  }
}
