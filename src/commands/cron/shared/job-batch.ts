import type { CronResult } from '../../../cron/ensure-jobs.ts';
import { toWireSchedule } from '../../../cron/schedule.ts';
import { type Batch, countByStatus, failureOfBatch } from '../../../output/batch-result.ts';
import { type Column, type CommandResult, objectResult } from '../../../output/command-result.ts';
import { errorJson } from '../../../output/error-text.ts';

/** A result as `cron create -o json` prints it. */
export function cronResultJson(result: CronResult) {
  const { source, job, key, description, next_runs, status, cron_job_id, schedule, differences, error } = result;
  const isKnown = schedule !== null;
  return {
    ...(source !== undefined && { source }),
    cron_job_id,
    status,
    agent_id: job.agent_id,
    name: job.name,
    schedule: isKnown ? toWireSchedule(job.schedule) : null,
    in_words: isKnown ? description : null,
    key,
    next_runs: isKnown ? next_runs : [],
    ...(differences.length > 0 && { differences }),
    error: errorJson(error),
  };
}

/** The statuses, in the order to count them. */
const TONES = {
  created: 'good',
  exists: 'dim',
  adopted: 'good',
  planned: 'warn',
  blocked: 'bad',
  unknown: 'bad',
  failed: 'bad',
  skipped: 'dim',
} as const;

function formatRuns({ status, next_runs, schedule }: CronResult): string {
  const hasRuns = ['created', 'exists', 'adopted', 'planned'].includes(status);
  return hasRuns && schedule !== null ? next_runs.join(', ') : '';
}

function formatSchedule({ schedule, differences, description }: CronResult): string {
  if (differences.some(({ field }) => field !== 'instructions')) return 'differs';
  return schedule === null ? 'not compared' : description;
}

const COLUMNS: readonly Column<CronResult>[] = [
  { header: 'JOB', value: ({ cron_job_id }) => cron_job_id },
  { header: 'STATUS', value: ({ status }) => status, tone: ({ status }) => TONES[status] },
  { header: 'AGENT', value: ({ agent, job }) => agent ?? job.agent_id, isOptional: true },
  { header: 'NAME', value: ({ job }) => job.name, fit: 'end' },
  { header: 'SCHEDULE', value: formatSchedule, fit: 'end' },
  { header: 'NEXT RUNS', value: formatRuns, isTime: true, isOptional: true },
  { header: 'KEY', value: ({ key }) => key, isWide: true, tone: () => 'dim' },
];

/** Jobs as `cron create` shows them. */
export const JOB_BATCH: Batch<CronResult> = {
  columns: COLUMNS,
  noun: 'jobs',
  again: 'Run it again with --ensure: existing jobs are left as they are.',
  item: ({ source, job: { name }, status, cron_job_id: id, error }) => {
    return { name, source, status, id, error, isUnfinished: status === 'skipped' };
  },
  json: cronResultJson,
  counts: (results) => countByStatus(results, TONES),
};

/** The result of one job: an object. @throws the error of a job that was not sent */
export async function toOneResult(
  results: AsyncIterable<CronResult>,
  { interrupt }: { readonly interrupt: AbortSignal },
): Promise<CommandResult> {
  let result: CronResult | undefined;
  for await (const each of results) result = each;
  const failure = result && failureOfBatch([result], JOB_BATCH, interrupt);
  if (!result || (failure && ['failed', 'skipped'].includes(result.status))) throw failure;
  return { ...objectResult(result, COLUMNS), json: cronResultJson(result), failure };
}
