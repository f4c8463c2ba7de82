import { postMessage } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { EXIT, InterruptedError, LocalError, PartnerctlError } from '../errors.ts';
import { merge } from './merge.ts';
import { openPlaces, type Places } from './places.ts';
import { type Row, readRows } from './rows.ts';
import { hintAtSource } from './send.ts';
import { type ChatContext, sessionKey } from './session.ts';
import { findSource, type SourceInput } from './source.ts';

/** What became of a row. */
export interface RowResult extends Omit<Row, 'text'> {
  /** The position in the input. */
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

/** Rows to send. */
export interface RowsInput {
  /** The file, for messages. */
  readonly name: string;
  readonly text: string;
  /** For rows without a source_id. */
  readonly source: SourceInput | undefined;
  /** For rows without a session_id. */
  readonly session_id: string | undefined;
  /** How many sessions at a time. */
  readonly concurrency?: number | undefined;
  readonly dryRun?: boolean | undefined;
}

type Results = AsyncGenerator<RowResult, void, void>;

const DEFAULT_CONCURRENCY = 8;
const MAY_BE_SENT = 'Interrupted. The message may have been sent. A repeat of the command registers it once.';

function resultOf({ text: _, ...row }: Row, status: RowResult['status'], more: Partial<RowResult> = {}): RowResult {
  return { ...row, index: row.line, message_id: null, created: null, error: undefined, status, ...more };
}

/** Whether all further messages would fail the same way: 401, 402, and 403. */
function stopsSending(error: unknown): boolean {
  return error instanceof PartnerctlError && (error.exitCode === EXIT.credentials || error.exitCode === EXIT.balance);
}

async function post(http: Http, places: Places, row: Row): Promise<RowResult> {
  try {
    const { message_id, created = null } = await postMessage(http, row);
    await places.addSent(row, message_id);
    return resultOf(row, 'sent', { message_id, created });
  } catch (error) {
    if (error instanceof InterruptedError) {
      return resultOf(row, 'unknown', { error: new InterruptedError(MAY_BE_SENT, error.exitCode) });
    }
    return resultOf(row, 'failed', { error: error instanceof PartnerctlError ? hintAtSource(error) : error });
  }
}

/**
 * Creates the function that sends the rows of a session in order, or only plans it. After a failure, those that follow
 * are not sent.
 */
function createSender({ signals }: ChatContext, http: Http, places: Places, dryRun: boolean) {
  /** The line of a failure that all others would have, too. */
  let stoppedAt: number | undefined;

  async function send(row: Row, heldBy: number | undefined): Promise<RowResult> {
    const message_id = places.findSent(row);
    if (message_id !== undefined) return resultOf(row, 'skipped', { message_id });
    if (dryRun) return resultOf(row, 'planned');
    if (heldBy !== undefined) {
      return resultOf(row, 'not_sent', { error: new LocalError(`Not sent, because line ${heldBy} failed.`) });
    }
    return signals.interrupt.aborted ? resultOf(row, 'not_sent') : await post(http, places, row);
  }
  return async function* sendInOrder(rows: readonly Row[]): Results {
    let failedAt: number | undefined;
    for (const row of rows) {
      const result = await send(row, stoppedAt ?? failedAt);
      if (result.status === 'failed' || result.status === 'unknown') failedAt = row.line;
      if (stopsSending(result.error)) stoppedAt ??= row.line;
      yield result;
    }
  };
}

/**
 * Sends one message for each row, so many sessions at a time, each in order.
 * @returns the results as they come. If the consumer stops early, the remaining rows are still sent
 */
async function* sendInLanes(send: (rows: readonly Row[]) => Results, rows: readonly Row[], lanes: number): Results {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const group = groups.get(sessionKey(row));
    if (group) group.push(row);
    else groups.set(sessionKey(row), [row]);
  }
  // The lanes share the iterator: each takes the next session.
  const sessions = groups.values();
  async function* lane(): Results {
    for (const session of sessions) yield* send(session);
  }
  const results = merge(Array.from({ length: lanes }, lane), () => undefined);
  try {
    for (let next = await results.next(); !next.done; next = await results.next()) yield next.value;
  } finally {
    while (!(await results.next()).done);
  }
}

/**
 * Checks rows. However often a row is sent, it becomes one message, because its external id follows from the row.
 * @returns what sends them, or only plans it, with the results as they come
 * @throws InputError that shows the mistakes in the rows, before anything is sent; as `findSource`
 */
export async function prepareRows(
  context: ChatContext,
  { name, text, source, session_id, concurrency = DEFAULT_CONCURRENCY, dryRun = false }: RowsInput,
): Promise<Results> {
  const http = await context.http();
  const source_id = source && (await findSource(http, source, context.command));
  const rows = readRows(name, text, { source_id, session_id });
  const places = await openPlaces(context, http);
  for (const row of rows) places.check(row);

  async function* results(): Results {
    let done = 0;
    if (!dryRun) context.progress.start('Sending the messages');
    const send = createSender(context, http, places, dryRun);
    for await (const result of sendInLanes(send, rows, concurrency)) {
      done += 1;
      context.progress.update(`Sending the messages: ${done} of ${rows.length}`);
      yield result;
    }
  }
  return results();
}
