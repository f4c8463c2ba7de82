import { prepareRows, type RowResult, type RowsInput } from '../../../chat/send-rows.ts';
import type { Context } from '../../../cli/context.ts';
import { readText } from '../../../cli/input.ts';
import { type Batch, batchResult, countByStatus } from '../../../output/batch-result.ts';
import type { Column } from '../../../output/command-result.ts';
import { describeError, errorJson } from '../../../output/error-text.ts';

const TONES = {
  sent: 'good',
  skipped: 'dim',
  planned: 'warn',
  failed: 'bad',
  unknown: 'warn',
  not_sent: 'warn',
} as const;

const COLUMNS: readonly Column<RowResult>[] = [
  { header: 'LINE', value: ({ line }) => line },
  { header: 'STATUS', value: ({ status }) => status.replace('_', ' '), tone: ({ status }) => TONES[status] },
  { header: 'SESSION', value: ({ session_id }) => session_id },
  { header: 'MESSAGE', value: ({ message_id }) => message_id },
  { header: 'EXTERNAL ID', value: ({ external_message_id }) => external_message_id, isWide: true, tone: () => 'dim' },
  { header: 'SOURCE', value: ({ source_id }) => source_id, isWide: true, tone: () => 'dim' },
  { header: 'NOTE', value: ({ error }) => (error === undefined ? null : describeError(error)), isNote: true },
];

const MAX_ROWS_MIB = 64;

function rowBatch(name: string): Batch<RowResult> {
  return {
    columns: COLUMNS,
    noun: 'messages',
    again: 'Run the same command again: it sends only what is left.',
    item: ({ line, status, error }) => {
      return { name: `${name}:${line}`, status, error, isUnfinished: status === 'not_sent' };
    },
    json: ({ index: _, error, ...result }) => ({ ...result, error: errorJson(error) }),
    counts: (results) => countByStatus(results, TONES),
  };
}

/**
 * Sends the rows of a file.
 * @param path the file, or `-` for standard input
 * @throws InputError that shows the mistakes in the file; nothing was sent then
 */
export async function sendRows(
  context: Context,
  path: string,
  { confirm, ...input }: Omit<RowsInput, 'name' | 'text'> & { readonly confirm: string | undefined },
) {
  const source = path === '-' ? ({ from: 'stdin' } as const) : ({ from: 'file', path } as const);
  const name = path === '-' ? '<stdin>' : path;
  const text = await readText(context, source, 'rows', { maxMib: MAX_ROWS_MIB, mayBeEmpty: true });
  const confirmWrite = async () => (input.dryRun ? undefined : context.prompts.confirmWrite(confirm));
  const { total, results } = await prepareRows(context, { ...input, name, text }, confirmWrite);
  const { progress, signals } = context;
  if (!input.dryRun) progress.start('Sending the messages');
  const onResult = (done: number): void => progress.update(`Sending the messages: ${done} of ${total}`);
  return batchResult(results, rowBatch(name), signals, onResult);
}
