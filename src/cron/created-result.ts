import type { Clock } from '../platform/clock.ts';
import type { WantedJob } from './job.ts';
import { type CreateOutcome, type ErrorContext, outcomeError } from './outcomes.ts';
import { type CronResult, type DescribeSchedule, initialCronResult } from './result.ts';

/** Returns the result to show for a job that was to be created. */
export async function toCreatedResult(
  wanted: WantedJob,
  outcome: CreateOutcome,
  { clock, command }: { readonly clock: Clock } & Pick<ErrorContext, 'command'>,
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
    error: outcomeError(outcome, { job, command }),
  };
}
