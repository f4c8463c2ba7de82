import { type FileRows, prepareRows, type RowResult, type RowsInput } from '../../../chat/send-rows.ts';
import type { Context } from '../../../cli/context.ts';
import { refuseTokenOnStdin } from '../../../cli/input.ts';
import { PartnerctlError, RunFailure } from '../../../errors.ts';
import { type BatchItem, batchFailure } from '../../../output/batch-failure.ts';
import { batchResult, countByStatus, formatCounts } from '../../../output/batch-result.ts';
import type { Column, CommandResult } from '../../../output/command-result.ts';
import { toErrorObject } from '../../../output/error-object.ts';
import { withReason } from '../../../output/sentences.ts';

const TONES = {
  sent: 'good',
  skipped: 'dim',
  planned: 'warn',
  failed: 'bad',
  unknown: 'warn',
  not_sent: 'warn',
} as const;

function noteOf({ error }: RowResult): string | undefined {
  if (error === undefined) return undefined;
  return withReason(toErrorObject(error).message, error instanceof PartnerctlError ? error.info.why : undefined);
}

const COLUMNS: readonly Column<RowResult>[] = [
  { header: 'LINE', value: ({ line }) => line },
  { header: 'STATUS', value: ({ status }) => status.replace('_', ' '), tone: ({ status }) => TONES[status] },
  { header: 'SESSION', value: ({ session_id }) => session_id },
  { header: 'MESSAGE', value: ({ message_id }) => message_id },
  { header: 'EXTERNAL ID', value: ({ external_message_id }) => external_message_id, tone: () => 'dim' },
  { header: 'SOURCE', value: ({ source_id }) => source_id, isOptional: true, tone: () => 'dim' },
  { header: 'NOTE', value: noteOf, fit: 'below' },
];

function toJson({ created, error, hasOwnId: _, index: __, ...result }: RowResult): object {
  return { ...result, created: created ?? null, error: error === undefined ? null : toErrorObject(error) };
}

/** An error that names its row. */
function labeled(label: string, error: unknown): unknown {
  return error instanceof PartnerctlError ? new RunFailure(`${label}: ${error.message}`, error, {}) : error;
}

const OUTCOMES = {
  sent: 'done',
  skipped: 'done',
  planned: 'done',
  failed: 'failed',
  unknown: 'skipped',
  not_sent: 'skipped',
} as const;

function countsOf(results: readonly RowResult[]) {
  return countByStatus(results, { sent: 0, skipped: 0, planned: 0, failed: 0, unknown: 0, not_sent: 0 });
}

/** The results in one sentence: `2 sent, 1 failed.` */
function summarize(results: readonly RowResult[]): string {
  const { not_sent, ...counts } = countsOf(results);
  return results.length === 0 ? '' : formatCounts({ ...counts, 'not sent': not_sent });
}

/** Says how many messages the service knew under the id of their row, perhaps with another text. */
function noteOfKnown(results: readonly RowResult[]): string | undefined {
  const { length } = results.filter(({ hasOwnId, created }) => hasOwnId && created === false);
  if (length === 0) return undefined;
  return `note: ${length} of the messages were registered under their external_message_id before, and the service kept their original text.`;
}

/** The error of a command that did not send all of its rows. @param name the file */
function failureOf(name: string, results: readonly RowResult[], interruption: unknown): PartnerctlError | undefined {
  const { planned: _, ...details } = countsOf(results);
  const left = details.failed + details.unknown + details.not_sent;
  const count = left === 1 ? '1 message is left.' : `${left} messages are left.`;
  const again = `${count} Run the same command again: it sends only what is left.`;
  const messages = {
    noun: 'messages',
    message: `Not all messages were sent: ${summarize(results)}`,
    summary: summarize(results),
    details,
    resumeHint: again,
    fixHint: again,
  };
  const items = results.map(({ line, status, error }): BatchItem => {
    const label = `${name}:${line}`;
    return { label, outcome: OUTCOMES[status], error: labeled(label, error) };
  });
  const error = batchFailure(items, messages, interruption);
  if (!error || left === 1 || !items.some((item) => item.error === error)) return error;
  const hint = [error.info.hint, again].filter((each) => each !== undefined).join('\n');
  return new RunFailure(error.message, error, { hint, details });
}

async function* sendAll(context: Context, rows: FileRows): AsyncGenerator<RowResult> {
  const { progress, notice } = context;
  const results: RowResult[] = [];
  for await (const result of rows.results()) {
    results.push(result);
    progress.update(`Sending the messages: ${results.length} of ${rows.count}`);
    yield result;
  }
  const note = noteOfKnown(results);
  if (note !== undefined) await notice(note);
}

/**
 * Sends the rows of a file.
 * @throws InputError that shows the mistakes in the file; nothing was sent then
 */
export async function sendRows(context: Context, input: RowsInput): Promise<CommandResult> {
  if (input.path === '-') refuseTokenOnStdin(context.flags, 'input');
  if (input.path === '-' && context.io.stdin.isTTY) {
    await context.notice('Reading standard input. Press Ctrl-D to finish.');
  }
  const rows = await prepareRows(context, input);
  return batchResult(sendAll(context, rows), COLUMNS, {
    empty: 'No messages to send.',
    json: toJson,
    summary: summarize,
    failure: (results) => failureOf(rows.name, results, context.signals.interrupt.reason),
  });
}
