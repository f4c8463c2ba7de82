import pLimit from 'p-limit';
import { postMessage } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { InterruptedError, LocalError, stopsRun } from '../errors.ts';
import { emitted } from '../platform/emitted.ts';
import { groupBy } from '../platform/group-by.ts';
import { ProblemList } from '../yaml/problem.ts';
import { openChatDirectory } from './chat-directory.ts';
import { type Places, placesIn } from './places.ts';
import { completeRows, type Row, readRows } from './rows.ts';
import { openSentLog, type SentLog } from './sent-log.ts';
import { type ChatContext, sessionKey } from './session.ts';
import { findSource, type SourceInput } from './source.ts';

export interface RowResult extends Omit<Row, 'text'> {
  readonly index: number;
  /** Null if the message is not sent. */
  readonly message_id: string | null;
  /** Whether this run registered it; null if it sent nothing, or if the response does not say. */
  readonly created: boolean | null;
  /**
   * `skipped`: an earlier run sent it. `unknown`: Ctrl-C ended the call, so it may have been sent; a repeat is safe.
   * `not_sent`: it was not tried.
   */
  readonly status: 'sent' | 'skipped' | 'planned' | 'failed' | 'unknown' | 'not_sent';
  readonly error: unknown;
}

export interface RowsInput {
  /** The file, for messages. */
  readonly name: string;
  readonly text: string;
  /** Like `session_id`, for rows that have none. */
  readonly source: SourceInput | undefined;
  readonly session_id: string | undefined;
  /** How many sessions at a time. */
  readonly concurrency?: number | undefined;
  readonly dryRun?: boolean | undefined;
}

const DEFAULT_CONCURRENCY = 8;

function resultOf({ text: _, ...row }: Row, status: RowResult['status'], more: Partial<RowResult> = {}): RowResult {
  return { ...row, index: row.line, message_id: null, created: null, error: undefined, status, ...more };
}

interface RowsRun {
  readonly http: Http;
  readonly places: Places;
  readonly sent: SentLog;
  readonly interrupt: AbortSignal;
  readonly dryRun: boolean;
  /** The line of a failure that all others would have, too. */
  stoppedAt?: number;
}

async function post({ http, places, sent }: RowsRun, row: Row): Promise<RowResult> {
  try {
    const { message_id, created = null } = await postMessage(http, row);
    await places.remember(row);
    await sent.add(row, message_id);
    return resultOf(row, 'sent', { message_id, created });
  } catch (error) {
    if (!(error instanceof InterruptedError)) return resultOf(row, 'failed', { error });
    const message = 'Interrupted. The message may have been sent. A repeat of the command registers it once.';
    return resultOf(row, 'unknown', { error: new InterruptedError(message, error.exitCode) });
  }
}

/** @param failedAt the line of an earlier row of the session that is not known to be sent */
async function sendRow(run: RowsRun, row: Row, failedAt: number | undefined): Promise<RowResult> {
  const message_id = run.sent.find(row);
  if (message_id !== undefined) return resultOf(row, 'skipped', { message_id });
  if (run.dryRun) return resultOf(row, 'planned');
  const heldBy = run.stoppedAt ?? failedAt;
  if (heldBy !== undefined) {
    return resultOf(row, 'not_sent', { error: new LocalError(`Not sent, because line ${heldBy} failed.`) });
  }
  return run.interrupt.aborted ? resultOf(row, 'not_sent') : await post(run, row);
}

async function sendInOrder(run: RowsRun, rows: readonly Row[], emit: (result: RowResult) => void): Promise<void> {
  let failedAt: number | undefined;
  for (const row of rows) {
    const result = await sendRow(run, row, failedAt);
    if (result.status === 'failed' || result.status === 'unknown') failedAt = row.line;
    if (stopsRun(result.error)) run.stoppedAt ??= row.line;
    emit(result);
  }
}

/**
 * Checks rows. However often a row is sent, it becomes one message, because its external id follows from the row.
 * @param confirm called once each row is right for itself, before anything is requested
 * @returns how many there are, and what sends them, or only plans it, with the results as they come. If the consumer stops
 *   early, the remaining rows are still sent
 * @throws InputError that shows the mistakes in the rows, before anything is sent; as `findSource`
 */
export async function prepareRows(
  context: ChatContext,
  { name, text, source, session_id, concurrency = DEFAULT_CONCURRENCY, dryRun = false }: RowsInput,
  confirm: () => Promise<void>,
): Promise<{ readonly total: number; readonly results: AsyncGenerator<RowResult> }> {
  const file = new ProblemList({ name, text });
  const written = readRows(file, { hasSource: source !== undefined, session_id });
  await confirm();
  const http = await context.http();
  const rows = completeRows(file, written, source ? await findSource(http, source, context.command) : '');
  const directory = openChatDirectory(context, http);
  const [places, sent] = [placesIn(directory), openSentLog(directory)];
  for (const row of rows) places.check(row);
  const run: RowsRun = { http, places, sent, interrupt: context.signals.interrupt, dryRun };
  const results = emitted<RowResult>(async (emit) => {
    const limit = pLimit(concurrency);
    const sessions = groupBy(rows, sessionKey).values();
    await Promise.all(Array.from(sessions, (session) => limit(() => sendInOrder(run, session, emit))));
  });
  return { total: rows.length, results };
}
