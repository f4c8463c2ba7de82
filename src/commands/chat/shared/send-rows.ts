import { prepareRows, type RowResult, type RowsInput } from '../../../chat/send-rows.ts';
import type { Context } from '../../../cli/context.ts';
import { refuseTokenOnStdin } from '../../../cli/input.ts';
import { PartnerctlError, RunFailure } from '../../../errors.ts';
import { type BatchItem, batchFailure } from '../../../output/batch-failure.ts';
import { batchResult, countByStatus, formatCounts } from '../../../output/batch-result.ts';
import type { Column, CommandResult } from '../../../output/command-result.ts';
import { toErrorObject } from '../../../output/error-object.ts';
import { withReason } from '../../../output/sentences.ts';

/** How each status is shown, and what it means for the command. */
const STATUSES = {
  sent: { tone: 'good', outcome: 'done' },
  skipped: { tone: 'dim', outcome: 'done' },
  planned: { tone: 'warn', outcome: 'done' },
  failed: { tone: 'bad', outcome: 'failed' },
  unknown: { tone: 'warn', outcome: 'skipped' },
  not_sent: { tone: 'warn', outcome: 'skipped' },
} as const;

function noteOf({ error }: RowResult): string | undefined {
  if (error === undefined) return undefined;
  return withReason(toErrorObject(error).message, error instanceof PartnerctlError ? error.info.why : undefined);
}

const COLUMNS: readonly Column<RowResult>[] = [
  { header: 'LINE', value: ({ line }) => line },
  { header: 'STATUS', value: ({ status }) => status.replace('_', ' '), tone: ({ status }) => STATUSES[status].tone },
  { header: 'SESSION', value: ({ session_id }) => session_id },
  { header: 'MESSAGE', value: ({ message_id }) => message_id },
  { header: 'EXTERNAL ID', value: ({ external_message_id }) => external_message_id, tone: () => 'dim' },
  { header: 'SOURCE', value: ({ source_id }) => source_id, isOptional: true, tone: () => 'dim' },
  { header: 'NOTE', value: noteOf, fit: 'below' },
];

function toJson({ created, error, hasOwnId: _, index: __, ...result }: RowResult): object {
  return { ...result, created: created ?? null, error: error === undefined ? null : toErrorObject(error) };
}

function countsOf(results: readonly RowResult[]) {
  return countByStatus(results, { sent: 0, skipped: 0, planned: 0, failed: 0, unknown: 0, not_sent: 0 });
}

/** The results in one sentence: `2 sent, 1 failed.` */
function summarize(results: readonly RowResult[]): string {
  const { not_sent, ...counts } = countsOf(results);
  return results.length === 0 ? '' : formatCounts({ ...counts, 'not sent': not_sent });
}

/** The error of a command that did not send all of its rows. @param path the file */
function failureOf(path: string, results: readonly RowResult[], interruption: unknown): PartnerctlError | undefined {
  const { planned: _, ...details } = countsOf(results);
  const left = details.failed + details.unknown + details.not_sent;
  const count = left === 1 ? '1 message is left.' : `${left} messages are left.`;
  const again = `${count} Run the same command again: it sends only what is left.`;
  const summary = summarize(results);
  const message = `Not all messages were sent: ${summary}`;
  const messages = { noun: 'messages', message, summary, details, resumeHint: again, fixHint: again };
  const items = results.map(({ line, status, error }): BatchItem => {
    const label = `${path === '-' ? '<stdin>' : path}:${line}`;
    const named = error instanceof PartnerctlError ? new RunFailure(`${label}: ${error.message}`, error, {}) : error;
    return { label, outcome: STATUSES[status].outcome, error: named };
  });
  const error = batchFailure(items, messages, interruption);
  // The error of a single row does not speak of those that it held back.
  if (!error || left === 1 || !items.some((item) => item.error === error)) return error;
  const hint = [error.info.hint, again].filter((each) => each !== undefined).join('\n');
  return new RunFailure(error.message, error, { hint, details });
}

/** Says how many messages the service knew under the id of their row, perhaps with another text. */
async function* withNote(context: Context, rows: AsyncIterable<RowResult>): AsyncGenerator<RowResult> {
  let known = 0;
  for await (const result of rows) {
    if (result.hasOwnId && result.created === false) known += 1;
    yield result;
  }
  if (known === 0) return;
  await context.notice(
    `note: ${known} of the messages were registered under their external_message_id before, and the service kept their original text.`,
  );
}

/**
 * Sends the rows of a file.
 * @throws InputError that shows the mistakes in the file; nothing was sent then
 */
export async function sendRows(context: Context, input: RowsInput): Promise<CommandResult> {
  if (input.path === '-') refuseTokenOnStdin(context.flags, 'rows');
  if (input.path === '-' && context.io.stdin.isTTY) {
    await context.notice('Reading standard input. Press Ctrl-D to finish.');
  }
  return batchResult(withNote(context, await prepareRows(context, input)), COLUMNS, {
    empty: 'No messages to send.',
    json: toJson,
    summary: summarize,
    failure: (results) => failureOf(input.path, results, context.signals.interrupt.reason),
  });
}
