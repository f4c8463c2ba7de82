import { prepareRows, type RowResult, type RowsInput } from '../../../chat/send-rows.ts';
import type { Context } from '../../../cli/context.ts';
import { readText } from '../../../cli/input.ts';
import { type Batch, batchResult, countByStatus } from '../../../output/batch-result.ts';
import type { Column } from '../../../output/command-result.ts';
import { describeError, toErrorObject } from '../../../output/error-text.ts';

/** How each status is shown, and what it means for the command. */
const STATUSES = {
  sent: { tone: 'good', outcome: 'done' },
  skipped: { tone: 'dim', outcome: 'done' },
  planned: { tone: 'warn', outcome: 'done' },
  failed: { tone: 'bad', outcome: 'failed' },
  unknown: { tone: 'warn', outcome: 'skipped' },
  not_sent: { tone: 'warn', outcome: 'skipped' },
} as const;

const COLUMNS: readonly Column<RowResult>[] = [
  { header: 'LINE', value: ({ line }) => line },
  { header: 'STATUS', value: ({ status }) => status.replace('_', ' '), tone: ({ status }) => STATUSES[status].tone },
  { header: 'SESSION', value: ({ session_id }) => session_id },
  { header: 'MESSAGE', value: ({ message_id }) => message_id },
  { header: 'EXTERNAL ID', value: ({ external_message_id }) => external_message_id, isWide: true, tone: () => 'dim' },
  { header: 'SOURCE', value: ({ source_id }) => source_id, isWide: true, tone: () => 'dim' },
  { header: 'NOTE', value: ({ error }) => (error === undefined ? null : describeError(error)), isNote: true },
];

const MAX_ROWS_MIB = 64;

const NONE = { sent: 0, skipped: 0, planned: 0, failed: 0, unknown: 0, not_sent: 0 };

/** Rows as `chat send --rows` shows them. @param name of the file */
function rowBatch(name: string): Batch<RowResult> {
  return {
    empty: 'No messages to send.',
    json: ({ error, index: _, ...result }) => ({ ...result, error: error === undefined ? null : toErrorObject(error) }),
    item: ({ line, status, error }) => ({ label: `${name}:${line}`, outcome: STATUSES[status].outcome, error }),
    noun: 'messages',
    again: 'Run the same command again: it sends only what is left.',
    counts: (results) => countByStatus(results, NONE),
  };
}

/**
 * Sends the rows of a file.
 * @param path the file, or `-` for standard input
 * @throws InputError that shows the mistakes in the file; nothing was sent then
 */
export async function sendRows(context: Context, path: string, input: Omit<RowsInput, 'name' | 'text'>) {
  const source = path === '-' ? ({ from: 'stdin' } as const) : ({ from: 'file', path } as const);
  const name = path === '-' ? '<stdin>' : path;
  const text = await readText(context, source, 'rows', { maxMib: MAX_ROWS_MIB, mayBeEmpty: true });
  return batchResult(await prepareRows(context, { ...input, name, text }), COLUMNS, rowBatch(name), context.signals);
}
