import { type CronResult, cronResultJson } from '../cron/cron-result.ts';
import { type ErrorObject, type PartnerctlError, toErrorObject } from '../errors.ts';
import { batchFailure } from '../output/batch-failure.ts';
import type { Difference } from './plan.ts';

export type DocumentStatus = 'created' | 'reused' | 'unchanged' | 'planned' | 'failed' | 'skipped';

export interface AgentResult {
  readonly agent_id: string | null;
  readonly name: string;
  readonly template_id: string;
  readonly status: 'created' | 'unchanged' | 'planned' | 'failed' | 'skipped';
  readonly source_id: string | null;
}

/** What became of one document. */
export interface DocumentResult {
  readonly index: number;
  readonly source: string;
  readonly external_space_id: string;
  readonly space_id: string | null;
  readonly status: DocumentStatus;
  readonly agents: readonly AgentResult[];
  /** The scheduled jobs of the agents, in the order of the manifest. */
  readonly cron: readonly CronResult[];
  /** In a dry run: what would be done. */
  readonly action?: 'create' | 'install';
  readonly differences: readonly Difference[];
  readonly error?: unknown;
}

/** The fixed form in which scripts see a result. */
export function resultJson(result: DocumentResult): object {
  const { index: _, error, action, cron, differences, ...facts } = result;
  return {
    ...facts,
    cron: cron.map(cronResultJson),
    ...(action && { action }),
    ...(differences.length > 0 && { differences }),
    ...(error !== undefined && { error: toErrorObject(error) satisfies ErrorObject }),
  };
}

export type Summary = Record<DocumentStatus, number>;

export function summarise(results: readonly DocumentResult[]): Summary {
  const summary: Summary = { created: 0, reused: 0, unchanged: 0, planned: 0, failed: 0, skipped: 0 };
  for (const { status } of results) summary[status] += 1;
  return summary;
}

/** The summary in words: `2 created, 1 unchanged`. */
export function summaryText(summary: Summary): string {
  const parts = Object.entries(summary).filter(([, count]) => count > 0);
  return `${parts.map(([status, count]) => `${count} ${status}`).join(', ')}.`;
}

/**
 * How a run ends that did not go through.
 * @param interruption the reason of the interrupt signal, where it was given
 * @returns undefined when every document is as it should be
 */
export function runFailure(results: readonly DocumentResult[], interruption: unknown): PartnerctlError | undefined {
  const summary = summarise(results);
  const items = results.map(({ source, external_space_id, status, error }) => ({
    label: `${source} (${external_space_id})`,
    outcome: status === 'failed' || status === 'skipped' ? status : ('done' as const),
    error,
  }));
  const words = {
    noun: 'documents',
    summary: summaryText(summary),
    details: summary,
    resumeHint: 'Run it again to go on: it looks at what is there before it writes.',
    fixHint: 'Mend the cause and run it again: what is done stays as it is.',
  };
  return batchFailure(items, words, interruption);
}
