import type { Context } from '../../../cli/context.ts';
import { type Batch, batchResult, countByStatus, formatCounts } from '../../../output/batch-result.ts';
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

const OUTCOMES = { sent: 'done', failed: 'failed', unknown: 'skipped', skipped: 'skipped' } as const;

const BATCH: Batch<ReplayResult> = {
  empty: 'Nothing to send.',
  json: toJson,
  item: ({ file, status, error }) => ({ label: file, outcome: OUTCOMES[status], error }),
  messages(results) {
    const counts = countByStatus(results, { sent: 0, failed: 0, unknown: 0, skipped: 0 });
    const unknownNote = counts.unknown > 0 ? ' Deliveries with status unknown may have arrived.' : '';
    const hint = `Run the command again with the files that were not sent.${unknownNote}`;
    const details = { results: results.map(toJson) };
    return { noun: 'deliveries', summary: formatCounts(counts), details, resumeHint: hint, fixHint: hint };
  },
};

/** The results of `webhook replay`. */
export function toReplayList(results: AsyncIterable<ReplayResult>, { signals }: Pick<Context, 'signals'>): ListResult {
  return batchResult(results, COLUMNS, BATCH, signals);
}
