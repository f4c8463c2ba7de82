import { createJob } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { emitted } from '../platform/emitted.ts';
import type { Log } from '../state/log.ts';
import type { CronContext } from './context.ts';
import { type CreateDeps, createJobs } from './create.ts';
import type { DescribeSchedule } from './describe-schedule.ts';
import { type CreateOutcome, outcomeError } from './outcomes.ts';
import { type CronResult, initialCronResult, type WantedJob } from './result.ts';

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
