import type { DescribeSchedule, ScheduleTexts } from './describe-schedule.ts';
import type { CronDifference, CronJob } from './job.ts';
import type { CreateOutcome } from './outcomes.ts';

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
