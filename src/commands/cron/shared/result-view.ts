import { endedAs, failedItem, itemSection } from '../../../cli/ci/findings.ts';
import type { CronResult } from '../../../cron/result.ts';
import { toWireSchedule } from '../../../cron/schedule.ts';
import type { PartnerctlError } from '../../../errors.ts';
import { batchFailure } from '../../../output/batch-failure.ts';
import { countByStatus, formatCounts } from '../../../output/batch-result.ts';
import type { CiView, Finding } from '../../../output/command-result.ts';
import { toErrorObject } from '../../../output/error-object.ts';

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
