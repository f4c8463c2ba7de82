import type { CronJob } from './job.ts';

/** A job to create and its position in the input. */
export interface WantedJob {
  readonly index: number;
  /** Its file and line: `jobs.yaml:3`. */
  readonly source: string | undefined;
  readonly job: CronJob;
}
