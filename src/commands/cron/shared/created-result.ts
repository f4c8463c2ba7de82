import { createJob } from '../../../api/calls.ts';
import type { Context } from '../../../cli/context.ts';
import { shellCommand } from '../../../cli/shell-command.ts';
import type { CreateDeps } from '../../../cron/create.ts';
import type { WantedJob } from '../../../cron/job.ts';
import { type CreateOutcome, outcomeError } from '../../../cron/outcomes.ts';
import { type CronResult, type DescribeSchedule, initialCronResult } from '../../../cron/result.ts';
import type { JobAccess, JobLists } from '../../../cron/service-jobs.ts';

/** What `createJobs` needs. @param onPost called with each request that is sent */
export function createDeps(
  { warn, progress }: Context,
  { http, log, clock, signal }: JobAccess,
  lists: JobLists,
  onPost: (posting: Promise<string>) => void = () => undefined,
): CreateDeps {
  return {
    origin: http.baseUrl,
    log,
    clock,
    signal,
    lists,
    onUnavailable: (error) =>
      warn(`Cannot read the list of jobs: ${error.message} Only the state prevents duplicates.`),
    onWait: (ms) => progress.countdown(ms, (left) => `looking again in ${left}`),
    async post(job, { timeoutMs, maySend }) {
      const posting = createJob(http, job, { timeoutMs, maySend });
      onPost(posting);
      return await posting;
    },
  };
}

/** Returns the result to show for a job that was to be created. */
export async function toCreatedResult(
  wanted: WantedJob,
  outcome: CreateOutcome,
  { clock, flags }: Context,
  describe: DescribeSchedule,
): Promise<CronResult> {
  const { job } = wanted;
  return {
    ...(await initialCronResult({ ...wanted, key: outcome.key }, clock.now(), describe)),
    status: outcome.status,
    gap: 'gap' in outcome ? outcome.gap : undefined,
    cron_job_id: 'cron_job_id' in outcome ? outcome.cron_job_id : null,
    differences: outcome.status === 'blocked' ? (outcome.differences ?? []) : [],
    why: outcome.status === 'blocked' ? outcome.why : undefined,
    error: outcomeError(outcome, { job, command: (words) => shellCommand(words, flags) }),
  };
}
