import type { PartnerctlError } from '../errors.ts';
import { batchFailure } from '../output/batch-failure.ts';
import { countByStatus, formatCounts } from '../output/batch-result.ts';
import { endedAs, failedItem, itemSection } from '../output/ci/findings.ts';
import type { CiView, Finding } from '../output/command-result.ts';
import { toErrorObject } from '../output/error-object.ts';
import type { CronDifference, CronJob } from './job.ts';
import type { ScheduleGap } from './listed-job.ts';
import { memoize } from './memoize.ts';
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
  const describe = memoize(
    async ({ schedule, now }: { readonly schedule: CronSchedule; readonly now: number }) => ({
      description: await describeSchedule(schedule),
      next_runs: await nextRuns(schedule, now, SHOWN_RUNS),
    }),
    // Jobs run at full minutes.
    ({ schedule, now }) => JSON.stringify([formatExpression(schedule), schedule.timezone, Math.floor(now / MINUTE_MS)]),
  );
  return (schedule, now) => describe({ schedule, now });
}

/**
 * The result of a job before the command acts on it: `skipped`.
 * @param now milliseconds since 1970
 */
export async function initialCronResult(
  { index, source, job, key }: Pick<CronResult, 'index' | 'source' | 'job' | 'key'>,
  now: number,
  describe: DescribeSchedule = createScheduleDescriber(),
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

/** A result as `cron create -o json` prints it. */
export function cronResultJson(result: CronResult): object {
  const { source, job, key, description, next_runs, status, cron_job_id, gap, differences, error } = result;
  return {
    ...(source !== undefined && { source }),
    cron_job_id,
    status,
    agent_id: job.agent_id,
    name: job.name,
    schedule: gap ? null : toWireSchedule(job.schedule),
    in_words: gap ? null : description,
    key,
    next_runs: gap ? [] : next_runs,
    ...(differences.length > 0 && { differences }),
    ...(error !== undefined && { error: toErrorObject(error) }),
  };
}

/** The failure of a job, without its reason, which may quote the instructions. */
function failuresOf({ source, error }: CronResult): Finding[] {
  return failedItem(error, source, true);
}

/** What a CI system shows of the jobs of files. */
export const CI_VIEW: CiView<CronResult> = {
  findings: failuresOf,
  section: (result) => {
    const { source, job, status, cron_job_id: id, error } = result;
    const detail = [source, endedAs(status, error), id].filter((part) => typeof part === 'string').join(', ');
    return itemSection(job.name, detail, failuresOf(result));
  },
};

const NONE = { created: 0, exists: 0, adopted: 0, planned: 0, blocked: 0, unknown: 0, failed: 0, skipped: 0 };

/** The results in one sentence: `2 created, 1 blocked.` */
export function summarizeJobs(results: readonly CronResult[]): string {
  return formatCounts(countByStatus(results, NONE));
}

function outcomeOf({ status, error }: CronResult): 'done' | 'failed' | 'skipped' {
  if (status === 'skipped') return 'skipped';
  return error === undefined ? 'done' : 'failed';
}

/**
 * The error of a command that did not create all of its jobs.
 * @param interruption the reason of the interrupt signal, if there was one
 */
export function jobsFailure(results: readonly CronResult[], interruption: unknown): PartnerctlError | undefined {
  const items = results.map((result) => ({
    label: [result.source, JSON.stringify(result.job.name)].filter(Boolean).join(' '),
    outcome: outcomeOf(result),
    error: result.error,
  }));
  const messages = {
    noun: 'jobs',
    summary: summarizeJobs(results),
    details: countByStatus(results, NONE),
    resumeHint: 'Run it again with --ensure to continue: existing jobs are left as they are.',
    fixHint: 'Fix the cause and run it again with --ensure: existing jobs are left as they are.',
  };
  return batchFailure(items, messages, interruption);
}
