import type { CronResult } from '../../../cron/create-wanted.ts';
import { toWireSchedule } from '../../../cron/schedule.ts';
import { type Batch, countByStatus, endedAs } from '../../../output/batch-result.ts';
import { toErrorObject } from '../../../output/error-text.ts';

/** A result as `cron create -o json` prints it. */
export function cronResultJson(result: CronResult): object {
  const { source, job, key, description, next_runs, status, cron_job_id, isScheduleUnknown, differences, error } =
    result;
  return {
    ...(source !== undefined && { source }),
    cron_job_id,
    status,
    agent_id: job.agent_id,
    name: job.name,
    schedule: isScheduleUnknown ? null : toWireSchedule(job.schedule),
    in_words: isScheduleUnknown ? null : description,
    key,
    next_runs: isScheduleUnknown ? [] : next_runs,
    ...(differences.length > 0 && { differences }),
    ...(error !== undefined && { error: toErrorObject(error) }),
  };
}

const NONE = { created: 0, exists: 0, adopted: 0, planned: 0, blocked: 0, unknown: 0, failed: 0, skipped: 0 };

/** Jobs as `cron create` shows them. */
export const JOBS: Batch<CronResult> = {
  empty: 'No jobs to create.',
  json: cronResultJson,
  item: ({ source, job, status, error }) => ({
    label: [source, JSON.stringify(job.name)].filter(Boolean).join(' '),
    outcome: status === 'skipped' ? 'skipped' : error === undefined ? 'done' : 'failed',
    error,
  }),
  noun: 'jobs',
  again: 'Run it again with --ensure: existing jobs are left as they are.',
  counts: (results) => countByStatus(results, NONE),
  ci: ({ source, job, status, cron_job_id, error }) => ({
    name: job.name,
    detail: [source, endedAs(status, error), cron_job_id].filter((part) => typeof part === 'string').join(', '),
    source,
    failures: [error],
  }),
};
