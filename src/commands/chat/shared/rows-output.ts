import { dirname } from 'node:path';
import { readRows } from '../../../chat/rows.ts';
import { planRows, type RowResult, SentLog, sendRows } from '../../../chat/send-rows.ts';
import { findSource, type SourceInput } from '../../../chat/source.ts';
import type { Context } from '../../../cli/context.ts';
import { refuseTokenOnStdin } from '../../../cli/input.ts';
import { describeFileError, InputError, PartnerctlError, RunFailure } from '../../../errors.ts';
import { type BatchItem, batchFailure } from '../../../output/batch-failure.ts';
import { formatCounts } from '../../../output/batch-result.ts';
import { type Column, type CommandResult, listResult } from '../../../output/command-result.ts';
import { toErrorObject } from '../../../output/error-object.ts';
import { joinSentences, withReason } from '../../../output/sentences.ts';
import { decodeText, readFileChunks, readStdin } from '../../../platform/input.ts';
import { commandFormatter, openPlaces } from './session-flags.ts';

/** Rows to send, as typed. */
export interface RowsInput {
  /** A file, or `-` for standard input. */
  readonly path: string;
  /** For rows without a source_id. */
  readonly source: SourceInput | undefined;
  /** For rows without a session_id. */
  readonly session_id: string | undefined;
  /** How many sessions at a time. */
  readonly concurrency: number;
  readonly dryRun: boolean;
}

const MAX_ROWS_MIB = 64;

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

export const ROW_COLUMNS: readonly Column<RowResult>[] = [
  { header: 'LINE', value: ({ line }) => line },
  { header: 'STATUS', value: ({ status }) => status.replace('_', ' '), tone: ({ status }) => TONES[status] },
  { header: 'SESSION', value: ({ session_id }) => session_id },
  { header: 'MESSAGE', value: ({ message_id }) => message_id },
  { header: 'EXTERNAL ID', value: ({ external_message_id }) => external_message_id, tone: () => 'dim' },
  { header: 'SOURCE', value: ({ source_id }) => source_id, isOptional: true, tone: () => 'dim' },
  { header: 'NOTE', value: noteOf, fit: 'below' },
];

function toJson({ created, error, hasOwnId: _, ...result }: RowResult): object {
  return { ...result, created: created ?? null, error: error === undefined ? null : toErrorObject(error) };
}

/** Counts the results of a run. */
class RowTally {
  private readonly name: string;
  private readonly counts = { sent: 0, skipped: 0, planned: 0, failed: 0, unknown: 0, not_sent: 0 };
  private readonly failed: BatchItem[] = [];
  /** How many messages the service knew under the id of the row, perhaps with another text. */
  private known = 0;
  private unidentified = 0;

  constructor(name: string) {
    this.name = name;
  }

  add({ line, status, error, message_id, created, hasOwnId }: RowResult): void {
    this.counts[status] += 1;
    if (status === 'sent' && message_id === null) this.unidentified += 1;
    if (hasOwnId && created === false) this.known += 1;
    const label = `${this.name}:${line}`;
    if (status === 'failed') this.failed.push({ label, outcome: 'failed', error: labeled(label, error) });
  }

  /** The results in one sentence: `2 sent, 1 failed.` */
  summary(): string {
    const { not_sent, ...counts } = this.counts;
    return formatCounts({ ...counts, 'not sent': not_sent });
  }

  notes(): readonly string[] {
    const known = `note: ${this.known} of the messages were registered under their external_message_id before, and the service keeps the text of then.`;
    const unidentified = `note: ${this.unidentified} of the messages are registered, but their message_id is not known: the response is empty.`;
    return [...(this.known > 0 ? [known] : []), ...(this.unidentified > 0 ? [unidentified] : [])];
  }

  /** The error of a command that did not send all of its rows. @param interruption the reason of the interrupt signal */
  failure(interruption: unknown): PartnerctlError | undefined {
    const { sent, skipped, planned, failed, unknown, not_sent } = this.counts;
    const left = failed + unknown + not_sent;
    const again = 'Run the same command again: it sends only what is left.';
    const count = left === 1 ? '1 message is left.' : `${left} messages are left.`;
    const messages = {
      noun: 'messages',
      message: `Not all messages were sent: ${this.summary()}`,
      summary: this.summary(),
      details: { sent, skipped, failed, unknown, not_sent },
      resumeHint: `${count} ${again}`,
      fixHint: `${count} Fix the cause. ${again}`,
    };
    const others: BatchItem[] = [];
    if (sent + skipped + planned > 0) others.push({ label: '', outcome: 'done' });
    if (unknown + not_sent > 0) others.push({ label: '', outcome: 'skipped' });
    const error = batchFailure([...this.failed, ...others], messages, interruption);
    const isOwn = this.failed.some((item) => item.error === error);
    if (!error || !isOwn || left === 1) return error;
    const hint = [error.info.hint, messages.fixHint].filter((each) => each !== undefined).join('\n');
    return new RunFailure(error.message, error, { hint, details: messages.details });
  }
}

/** An error that names its row. */
function labeled(label: string, error: unknown): unknown {
  return error instanceof PartnerctlError ? new RunFailure(`${label}: ${error.message}`, error, {}) : error;
}

/** @throws InputError if the rows cannot be read */
async function readRowsText({ io, abortSignal, notice }: Context, path: string): Promise<string> {
  const isStdin = path === '-';
  if (isStdin && io.stdin.isTTY) await notice('Reading standard input. Press Ctrl-D to finish.');
  try {
    const chunks = isStdin ? readStdin(io.stdin, abortSignal) : readFileChunks(path, abortSignal);
    return await decodeText(chunks, MAX_ROWS_MIB);
  } catch (error) {
    abortSignal.throwIfAborted();
    if (error instanceof PartnerctlError) throw error;
    throw new InputError(`The rows cannot be read from ${isStdin ? 'standard input' : path}.`, {
      why: describeFileError(error),
      hint: 'Nothing was sent.',
      cause: error,
    });
  }
}

/**
 * Sends the rows of a file.
 * @throws InputError that shows the mistakes in the file; nothing was sent then
 */
export async function sendRowsOf(context: Context, input: RowsInput): Promise<CommandResult> {
  const { path, dryRun, concurrency, session_id } = input;
  const { signals, abortSignal, progress, warn, notice } = context;
  if (path === '-') refuseTokenOnStdin(context.flags, 'input');
  const name = path === '-' ? '<stdin>' : path;
  const text = await readRowsText(context, path);
  const sourceGiven = input.source && 'source_id' in input.source ? input.source.source_id : undefined;
  // Mistakes are reported before the first request, which may look up an agent.
  if (input.source && sourceGiven === undefined) readRows(name, text, { source_id: '', session_id });
  const http = await context.http();
  const source_id = input.source && (await findSource(http, input.source, commandFormatter(context)));
  const rows = readRows(name, text, { source_id, session_id });
  const directory = dirname(await context.statePath());
  const places = await openPlaces(context, http);
  for (const row of rows) places.check(row);
  const tally = new RowTally(name);

  async function* results(): AsyncGenerator<RowResult> {
    const log = await SentLog.open(directory, http.baseUrl, dryRun ? 'read' : 'write');
    const onUnrecorded = ({ message }: Error): Promise<void> =>
      warn(
        joinSentences(
          `${message}\nFrom here on, what is sent is not recorded: a repeated run sends it again under the same external ids, so that it is registered once.`,
        ),
      );
    const deps = { http, log, places, interrupt: signals.interrupt, abortSignal, onUnrecorded };
    try {
      if (dryRun) return yield* planRows(rows, log);
      progress.start('Sending the messages');
      let count = 0;
      for await (const result of sendRows(deps, rows, concurrency)) {
        tally.add(result);
        count += 1;
        progress.update(`Sending the messages: ${count} of ${rows.length}`);
        yield result;
      }
      for (const note of tally.notes()) await notice(note);
    } finally {
      await log.close();
    }
  }

  return listResult(results(), ROW_COLUMNS, {
    empty: 'No messages to send.',
    json: toJson,
    sortIndex: ({ line }) => line,
    summary: () => (rows.length === 0 ? '' : tally.summary()),
    failure: () => tally.failure(signals.interrupt.reason),
  });
}
