import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { postMessage } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { describeFileError, EXIT, InputError, InterruptedError, LocalError, PartnerctlError } from '../errors.ts';
import { decodeText, readFileChunks, readStdin } from '../platform/input.ts';
import { type ChatContext, openPlaces } from './context.ts';
import { merge } from './merge.ts';
import type { Places } from './places.ts';
import { type Row, readRows } from './rows.ts';
import { hintAtSource } from './send.ts';
import { SentLog } from './sent-log.ts';
import { sessionKey } from './session.ts';
import { findSource, type SourceInput } from './source.ts';

/** What became of a row. */
export interface RowResult extends Omit<Row, 'text'> {
  /** The position in the input. */
  readonly index: number;
  /** Null if the message is not sent. */
  readonly message_id: string | null;
  /** Whether this run registered it; undefined if it sent nothing, or if the response does not say. */
  readonly created: boolean | undefined;
  /**
   * `skipped`: an earlier run sent it. `unknown`: Ctrl-C ended the call, so it may have been sent; a repeat is safe.
   * `not_sent`: it was not tried.
   */
  readonly status: 'sent' | 'skipped' | 'planned' | 'failed' | 'unknown' | 'not_sent';
  readonly error: unknown;
}

/** Rows to send, as typed. */
export interface RowsInput {
  /** A file, or `-` for standard input. */
  readonly path: string;
  /** For rows without a source_id. */
  readonly source: SourceInput | undefined;
  /** For rows without a session_id. */
  readonly session_id: string | undefined;
  /** How many sessions at a time. */
  readonly concurrency?: number | undefined;
  readonly dryRun?: boolean | undefined;
}

interface SendRowsDeps {
  readonly http: Http;
  readonly log: SentLog;
  readonly places: Places;
  /** Aborts at an interrupt, and when the time of the command is up. */
  readonly abortSignal: AbortSignal;
}

type RowsContext = ChatContext & { readonly io: { readonly stdin: Readable } };

const MAX_ROWS_MIB = 64;
const DEFAULT_CONCURRENCY = 8;
const MAY_BE_SENT = 'Interrupted. The message may have been sent. A repeat of the command registers it once.';

function resultOf({ text: _, ...row }: Row, more: Partial<RowResult>): RowResult {
  const initial = { message_id: null, created: undefined, status: 'not_sent', error: undefined } as const;
  return { ...row, index: row.line, ...initial, ...more };
}

/** Whether all further messages would fail the same way: 401, 402, and 403. */
function stopsSending(error: unknown): boolean {
  return error instanceof PartnerctlError && (error.exitCode === EXIT.credentials || error.exitCode === EXIT.balance);
}

async function sendRow({ http, log, places }: SendRowsDeps, row: Row): Promise<RowResult> {
  try {
    const { message_id, created } = await postMessage(http, row);
    await places.record(() => log.add(row, message_id));
    await places.remember(row);
    return resultOf(row, { status: 'sent', message_id, created });
  } catch (error) {
    if (error instanceof InterruptedError) {
      return resultOf(row, { status: 'unknown', error: new InterruptedError(MAY_BE_SENT, error.exitCode) });
    }
    return resultOf(row, { status: 'failed', error: error instanceof PartnerctlError ? hintAtSource(error) : error });
  }
}

/** What to report of a row that is not to be sent; undefined to send it. @param failedAt the line whose failure holds it back */
function reasonNotToSend(
  failedAt: number | undefined,
  { aborted, reason }: AbortSignal,
): Partial<RowResult> | undefined {
  if (failedAt !== undefined) return { error: new LocalError(`Not sent, because line ${failedAt} failed.`) };
  if (reason instanceof InterruptedError) return {};
  return aborted ? { status: 'failed', error: reason } : undefined;
}

/** Creates the function that sends the rows of a session one after the other. After a failure, those that follow are not sent. */
function createSender(deps: SendRowsDeps) {
  /** The line of a failure that all others would have, too. */
  let stoppedAt: number | undefined;
  return async function* send(rows: readonly Row[]): AsyncGenerator<RowResult, void, void> {
    let failedAt: number | undefined;
    for (const row of rows) {
      const message_id = deps.log.find(row);
      const reason = reasonNotToSend(stoppedAt ?? failedAt, deps.abortSignal);
      if (message_id !== undefined) yield resultOf(row, { status: 'skipped', message_id });
      else if (reason) yield resultOf(row, reason);
      else {
        const result = await sendRow(deps, row);
        if (result.status !== 'sent') failedAt = row.line;
        if (stopsSending(result.error)) stoppedAt ??= row.line;
        yield result;
      }
    }
  };
}

function groupBySession(rows: readonly Row[]): IterableIterator<readonly Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const group = groups.get(sessionKey(row));
    if (group) group.push(row);
    else groups.set(sessionKey(row), [row]);
  }
  return groups.values();
}

/**
 * Sends one message for each row, so many sessions at a time, each in order. A repeat sends only what is left, and each row
 * becomes one message however often it is sent, because its external id follows from the row.
 * @returns the results as they come. If the consumer stops early, the remaining rows are still sent
 */
async function* sendRows(
  deps: SendRowsDeps,
  rows: readonly Row[],
  concurrency: number,
): AsyncGenerator<RowResult, void, void> {
  const send = createSender(deps);
  // The lanes share the iterator: each takes the next session.
  const sessions = groupBySession(rows);
  async function* lane(): AsyncGenerator<RowResult, void, void> {
    for (const session of sessions) yield* send(session);
  }
  const results = merge(Array.from({ length: concurrency }, lane), () => undefined);
  try {
    for (let next = await results.next(); !next.done; next = await results.next()) yield next.value;
  } finally {
    while (!(await results.next()).done);
  }
}

/** @throws InputError if the rows cannot be read */
async function readRowsText({ io, abortSignal }: RowsContext, path: string): Promise<string> {
  try {
    const chunks = path === '-' ? readStdin(io.stdin, abortSignal) : readFileChunks(path, abortSignal);
    return await decodeText(chunks, MAX_ROWS_MIB);
  } catch (error) {
    abortSignal.throwIfAborted();
    const from = path === '-' ? 'standard input' : path;
    const why = describeFileError(error);
    throw new InputError(`The rows cannot be read from ${from}.`, { why, hint: 'Nothing was sent.', cause: error });
  }
}

/**
 * Reads and checks the rows of a file.
 * @returns what sends them, or only plans it, with the results as they come
 * @throws InputError that shows the mistakes in the file, before anything is sent; as `findSource`
 */
export async function prepareRows(
  context: RowsContext,
  { path, source, session_id, concurrency = DEFAULT_CONCURRENCY, dryRun = false }: RowsInput,
): Promise<AsyncGenerator<RowResult, void, void>> {
  const { abortSignal, progress } = context;
  const text = await readRowsText(context, path);
  const http = await context.http();
  const source_id = source && (await findSource(http, source, context.command));
  const rows = readRows(path === '-' ? '<stdin>' : path, text, { source_id, session_id });
  const places = await openPlaces(context, http);
  for (const row of rows) places.check(row);
  const log = new SentLog(dirname(await context.statePath()), http.baseUrl);
  async function* results(): AsyncGenerator<RowResult, void, void> {
    await log.read();
    if (dryRun) {
      for (const row of rows) {
        const message_id = log.find(row);
        yield resultOf(row, message_id === undefined ? { status: 'planned' } : { status: 'skipped', message_id });
      }
      return;
    }
    let done = 0;
    progress.start('Sending the messages');
    for await (const result of sendRows({ http, log, places, abortSignal }, rows, concurrency)) {
      done += 1;
      progress.update(`Sending the messages: ${done} of ${rows.length}`);
      yield result;
    }
  }
  return results();
}
