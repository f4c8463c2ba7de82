import type { CronDifference, CronJob } from './job.ts';
import type { ScheduleGap } from './listed-job.ts';
import { nextRuns } from './next-runs.ts';
import type { Blocked, CreateOutcome } from './outcomes.ts';
import type { CronSchedule } from './schedule.ts';
import { describeSchedule, formatExpression } from './schedule.ts';

const SHOWN_RUNS = 3;

/** A job to show. Its agent has no id until it is installed. */
interface ShownJob extends Omit<CronJob, 'agent_id'> {
  readonly agent_id: string | null;
}

/** The result of one job of a command. */
export interface CronResult {
  /** Its position in the input, starting at 0. */
  readonly index: number;
  /** Its file and line: `jobs.yaml:3`. */
  readonly source: string | undefined;
  readonly job: ShownJob;
  /** Null if the agent has no id yet. */
  readonly key: string | null;
  /** The schedule in English. */
  readonly description: string;
  /** ISO 8601 with the offset of the schedule's timezone. */
  readonly next_runs: readonly string[];
  readonly status: CreateOutcome['status'] | 'skipped';
  readonly cron_job_id: string | null;
  readonly differences: readonly CronDifference[];
  /** Why the schedule of an existing job, which may be another than that of `job`, could not be compared. */
  readonly gap?: ScheduleGap | undefined;
  /** Why a job is blocked. */
  readonly why?: Blocked['why'] | undefined;
  readonly error: unknown;
}

/** Converts a schedule to the form of the service (spec §2). */
export function toWireSchedule({ minute, hour, day_of_week, timezone }: CronSchedule) {
  return { type: 'cron', data: { minute, hour, day_of_week }, timezone } as const;
}

type ScheduleTexts = Pick<CronResult, 'description' | 'next_runs'>;

/** Describes a schedule. @param now milliseconds since 1970 */
export type DescribeSchedule = (schedule: CronSchedule, now: number) => Promise<ScheduleTexts>;

const MINUTE_MS = 60_000;

/** Returns a function that describes schedules, each once: jobs share schedules, and finding the next runs takes long. */
export function createScheduleDescriber(): DescribeSchedule {
  const known = new Map<string, Promise<ScheduleTexts>>();
  const describe = async (schedule: CronSchedule, now: number): Promise<ScheduleTexts> => ({
    description: await describeSchedule(schedule),
    next_runs: await nextRuns(schedule, now, SHOWN_RUNS),
  });
  return (schedule, now) => {
    // Jobs run at full minutes.
    const key = JSON.stringify([formatExpression(schedule), schedule.timezone, Math.floor(now / MINUTE_MS)]);
    const described = known.get(key) ?? describe(schedule, now);
    known.set(key, described);
    return described;
  };
}

/**
 * The result of a job before the command acts on it: `skipped`.
 * @param now milliseconds since 1970
 */
export async function initialCronResult(
  { index, source, job, key }: Pick<CronResult, 'index' | 'source' | 'job' | 'key'>,
  now: number,
  describe: DescribeSchedule,
): Promise<CronResult> {
  return {
    index,
    source,
    job,
    key,
    ...(await describe(job.schedule, now)),
    status: 'skipped',
    cron_job_id: null,
    differences: [],
    error: undefined,
  };
}
