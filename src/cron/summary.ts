import type { PartnerctlError } from '../errors.ts';
import { batchFailure } from '../output/batch-failure.ts';
import type { CronResult } from './result.ts';

type Summary = Partial<Record<CronResult['status'], number>>;

function summarise(results: readonly CronResult[]): Summary {
  const summary: Summary = {};
  for (const { status } of results) summary[status] = (summary[status] ?? 0) + 1;
  return summary;
}

/** What became of all jobs, in words: `2 created, 1 blocked.` */
export function summaryText(results: readonly CronResult[]): string {
  const parts = Object.entries(summarise(results)).map(([status, count]) => `${count} ${status}`);
  return `${parts.join(', ')}.`;
}

function outcomeOf({ status, error }: CronResult): 'done' | 'failed' | 'skipped' {
  if (status === 'skipped') return 'skipped';
  return error === undefined ? 'done' : 'failed';
}

/**
 * How a command ends that did not create all of its jobs.
 * @param interruption the reason of the interrupt signal, where it was given
 */
export function jobsFailure(results: readonly CronResult[], interruption: unknown): PartnerctlError | undefined {
  const items = results.map((result) => ({
    label: [result.source, JSON.stringify(result.job.name)].filter(Boolean).join(' '),
    outcome: outcomeOf(result),
    error: result.error,
  }));
  const words = {
    noun: 'jobs',
    summary: summaryText(results),
    details: summarise(results),
    resumeHint: 'Run it again with --ensure to go on: what is there stays as it is.',
    fixHint: 'Mend the cause and run it again with --ensure: what is there stays as it is.',
  };
  return batchFailure(items, words, interruption);
}
