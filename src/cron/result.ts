import { toErrorObject } from '../errors.ts';
import type { CronDifference, CronJob } from './job.ts';
import { nextRuns } from './next-runs.ts';
import type { CreateOutcome } from './outcome.ts';
import type { CronSchedule } from './schedule.ts';
import { inWords } from './words.ts';

const SHOWN_RUNS = 3;

/** A job as far as it is known: an agent that is still to be installed has no id. */
interface ShownJob extends Omit<CronJob, 'agent_id'> {
  readonly agent_id: string | null;
}

/** What became of one job of a command. */
export interface CronResult {
  /** Its number in the input, from 0. */
  readonly index: number;
  /** Where it stands in a file: `jobs.yaml:3`. */
  readonly source: string | undefined;
  readonly job: ShownJob;
  /** Null where the agent is not known. */
  readonly key: string | null;
  /** The schedule in words. */
  readonly words: string;
  /** ISO 8601 with the offset of the schedule's timezone. */
  readonly next_runs: readonly string[];
  readonly status: CreateOutcome['status'] | 'skipped';
  readonly cron_job_id: string | null;
  readonly differences: readonly CronDifference[];
  readonly error: unknown;
}

/** The schedule as the wire has it (spec §2). */
export function wireSchedule({ minute, hour, day_of_week, timezone }: CronSchedule) {
  return { type: 'cron', data: { minute, hour, day_of_week }, timezone } as const;
}

/** What is known of a job before anything is done for it. */
export async function untouched(
  { index, source, job, key }: Pick<CronResult, 'index' | 'source' | 'job' | 'key'>,
  now: number,
): Promise<CronResult> {
  return {
    index,
    source,
    job,
    key,
    words: await inWords(job.schedule),
    next_runs: await nextRuns(job.schedule, now, SHOWN_RUNS),
    status: 'skipped',
    cron_job_id: null,
    differences: [],
    error: undefined,
  };
}

/** The fixed form in which scripts see a result. */
export function resultJson(result: CronResult): object {
  const { source, job, key, words, next_runs, status, cron_job_id, differences, error } = result;
  return {
    ...(source !== undefined && { source }),
    cron_job_id,
    status,
    agent_id: job.agent_id,
    name: job.name,
    schedule: wireSchedule(job.schedule),
    in_words: words,
    key,
    next_runs,
    ...(differences.length > 0 && { differences }),
    ...(error !== undefined && { error: toErrorObject(error) }),
  };
}
