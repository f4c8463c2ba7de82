import type { PartnerctlError } from '../../../errors.ts';
import { type BatchItem, batchFailure } from '../../../output/batch-failure.ts';
import { batchResult, countByStatus, formatCounts } from '../../../output/batch-result.ts';
import type { Column, ListResult } from '../../../output/command-result.ts';
import { toErrorObject } from '../../../output/error-object.ts';
import type { ReplayResult } from '../../../webhook/replay.ts';

const TONES = { sent: 'good', failed: 'bad', unknown: 'warn', skipped: 'dim' } as const;

const COLUMNS: readonly Column<ReplayResult>[] = [
  { header: 'DELIVERY_ID', value: ({ delivery_id }) => delivery_id },
  { header: 'STATUS', value: ({ status }) => status, tone: ({ status }) => TONES[status] },
  { header: 'HTTP', value: ({ http_status }) => http_status },
  { header: 'FILE', value: ({ file }) => file, fit: 'start' },
];

function toJson({ file, delivery_id, status, http_status, error }: ReplayResult): unknown {
  return { file, delivery_id, status, http_status, error: error ? toErrorObject(error) : null };
}

function summarize(results: readonly ReplayResult[]): string {
  return formatCounts(countByStatus(results, { sent: 0, failed: 0, unknown: 0, skipped: 0 }));
}

const OUTCOMES = { sent: 'done', failed: 'failed', unknown: 'skipped', skipped: 'skipped' } as const;

function failureOf(results: readonly ReplayResult[], interruption: unknown): PartnerctlError | undefined {
  const items = results.map(
    ({ file, status, error }): BatchItem => ({ label: file, outcome: OUTCOMES[status], error }),
  );
  const isAnyUnknown = results.some(({ status }) => status === 'unknown');
  const unknownNote = isAnyUnknown ? ' Deliveries with status unknown may have arrived.' : '';
  const hint = `Run the command again with the files that were not sent.${unknownNote}`;
  const messages = {
    noun: 'deliveries',
    summary: summarize(results),
    details: { results: results.map(toJson) },
    resumeHint: hint,
    fixHint: hint,
  };
  return batchFailure(items, messages, interruption);
}

/** The results of `webhook replay`. @param interruption returns the reason of the interrupt signal */
export function toReplayList(results: AsyncIterable<ReplayResult>, interruption: () => unknown): ListResult {
  return batchResult(results, COLUMNS, {
    empty: 'Nothing to send.',
    json: toJson,
    summary: summarize,
    failure: (all) => failureOf(all, interruption()),
  });
}
