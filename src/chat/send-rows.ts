import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import type { Http } from '../api/http.ts';
import {
  describeFileError,
  EXIT,
  InputError,
  InterruptedError,
  LocalError,
  PartnerctlError,
  RunFailure,
  withHint,
} from '../errors.ts';
import { decodeText, readFileChunks, readStdin } from '../platform/input.ts';
import { type ChatContext, openPlaces } from './context.ts';
import { merge } from './merge.ts';
import type { Places } from './places.ts';
import { type Row, readRows } from './rows.ts';
import { isRefused, registerMessage, UNKNOWN_SOURCE_HINT } from './send.ts';
import { SentLog } from './sent-log.ts';
import { sessionKey } from './session.ts';
import { findSource, type SourceInput } from './source.ts';

/** What became of a row. */
export interface RowResult extends Omit<Row, 'text'> {
  /** The position in the input. */
  readonly index: number;
  /** Null if the message is not sent, or if the response does not tell it. */
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

interface SendRowsDeps {
  readonly http: Http;
  readonly log: SentLog;
  readonly places: Places;
  /** Aborts at an interrupt, and when the time of the command is up. */
  readonly abortSignal: AbortSignal;
  /** Called once, if what is sent cannot be recorded. */
  readonly onUnrecorded: (error: PartnerctlError) => Promise<void>;
}

/** Whether all further messages would fail the same way: 401, 402, and 403. */
function stopsSending(error: unknown): error is PartnerctlError {
  return error instanceof PartnerctlError && (error.exitCode === EXIT.credentials || error.exitCode === EXIT.balance);
}

/** Repeating a row is safe, so an interrupted send needs no check of its outcome. */
function unknownOutcome({ exitCode }: InterruptedError): InterruptedError {
  return new InterruptedError(
    'Interrupted. The message may have been sent. A repeat of the command registers it once.',
    exitCode,
  );
}

function initialResult({ text: _, ...row }: Row): RowResult {
  return { ...row, index: row.line, message_id: null, created: undefined, status: 'not_sent', error: undefined };
}

class RowSender {
  private readonly deps: SendRowsDeps;
  private stopped: PartnerctlError | undefined;
  private isRecording = true;

  constructor(deps: SendRowsDeps) {
    this.deps = deps;
  }

  /** Sends the rows of a session one after the other. After a failure, those that follow are not sent. */
  async *send(rows: readonly Row[]): AsyncGenerator<RowResult, void, void> {
    let failedLine: number | undefined;
    for (const row of rows) {
      const messageId = this.deps.log.find(row);
      const reason = this.reasonNotToSend(failedLine);
      const initial = initialResult(row);
      if (messageId !== undefined) yield { ...initial, status: 'skipped', message_id: messageId };
      else if (reason) yield { ...initial, error: reason };
      else {
        const result = await this.sendRow(row);
        if (result.status !== 'sent') failedLine = row.line;
        yield result;
      }
    }
  }

  /** Why a row is not sent; undefined to send it. */
  private reasonNotToSend(failedLine: number | undefined): PartnerctlError | undefined {
    const { abortSignal } = this.deps;
    const reason: unknown = this.stopped ?? (abortSignal.aborted ? abortSignal.reason : undefined);
    if (reason instanceof PartnerctlError) {
      return new RunFailure(`Not sent. ${reason.message}`, reason, { details: null });
    }
    if (failedLine === undefined) return undefined;
    const details = { line: failedLine };
    return new LocalError(`Not sent, because line ${failedLine} of the same session failed.`, { details });
  }

  private async sendRow(row: Row): Promise<RowResult> {
    const { line: _, hasOwnId: __, ...message } = row;
    try {
      const { message_id, created } = await registerMessage(this.deps.http, message);
      await this.record(row, message_id);
      return { ...initialResult(row), status: 'sent', message_id, created };
    } catch (error) {
      if (stopsSending(error)) this.stopped ??= error;
      if (error instanceof InterruptedError) {
        return { ...initialResult(row), status: 'unknown', error: unknownOutcome(error) };
      }
      const isUnknownSource = error instanceof PartnerctlError && error.info.status === 404 && isRefused(error);
      const explained = isUnknownSource ? withHint(error, { hint: UNKNOWN_SOURCE_HINT, details: {} }) : error;
      return { ...initialResult(row), status: 'failed', error: explained };
    }
  }

  private async record(row: Row, messageId: string | null): Promise<void> {
    if (!this.isRecording) return;
    try {
      await this.deps.log.add(row, messageId);
      await this.deps.places.remember(row);
    } catch (error) {
      if (!(error instanceof PartnerctlError)) throw error;
      this.isRecording = false;
      await this.deps.onUnrecorded(error);
    }
  }
}

function groupBySession(rows: readonly Row[]): readonly (readonly Row[])[] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const key = sessionKey(row);
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  }
  return [...groups.values()];
}

/** What would become of the rows. */
function planRows(rows: readonly Row[], log: SentLog): readonly RowResult[] {
  return rows.map((row) => {
    const message_id = log.find(row);
    if (message_id === undefined) return { ...initialResult(row), status: 'planned' };
    return { ...initialResult(row), status: 'skipped', message_id };
  });
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
  const sender = new RowSender(deps);
  // The lanes share the iterator: each takes the next session.
  const sessions = groupBySession(rows).values();
  async function* lane(): AsyncGenerator<RowResult, void, void> {
    for (const session of sessions) yield* sender.send(session);
  }
  const results = merge(Array.from({ length: concurrency }, lane), () => undefined);
  try {
    for (let next = await results.next(); !next.done; next = await results.next()) yield next.value;
  } finally {
    while (!(await results.next()).done);
  }
}

const MAX_ROWS_MIB = 64;
const DEFAULT_CONCURRENCY = 8;

/** The rows of a file, checked. */
export interface FileRows {
  /** The file, for messages. */
  readonly name: string;
  readonly count: number;
  /** Sends them, or only plans it. Can be called once. */
  results(): AsyncGenerator<RowResult, void, void>;
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

type RowsContext = ChatContext & { readonly io: { readonly stdin: Readable } };

/** @throws InputError if the rows cannot be read */
async function readRowsText({ io, abortSignal }: RowsContext, path: string): Promise<string> {
  const isStdin = path === '-';
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
 * Reads and checks the rows of a file.
 * @throws InputError that shows the mistakes in the file, before the first request; as `findSource`
 */
export async function prepareRows(
  context: RowsContext,
  { path, source, session_id, concurrency = DEFAULT_CONCURRENCY, dryRun = false }: RowsInput,
): Promise<FileRows> {
  const { abortSignal, progress, warn } = context;
  const name = path === '-' ? '<stdin>' : path;
  const text = await readRowsText(context, path);
  // Mistakes are reported before the first request, which may look up an agent.
  if (source && 'agent' in source) readRows(name, text, { source_id: '', session_id });
  const http = await context.http();
  const source_id = source && (await findSource(http, source, context.command));
  const rows = readRows(name, text, { source_id, session_id });
  const places = await openPlaces(context, http);
  for (const row of rows) places.check(row);
  const directory = dirname(await context.statePath());
  const onUnrecorded = ({ message }: Error): Promise<void> =>
    warn(
      `${message} Sent rows are no longer recorded. Repeating the command resends them under the same ids, without duplicates.`,
    );
  async function* results(): AsyncGenerator<RowResult, void, void> {
    const log = await SentLog.open(directory, http.baseUrl, dryRun ? 'read' : 'write');
    try {
      if (dryRun) return yield* planRows(rows, log);
      progress.start('Sending the messages');
      yield* sendRows({ http, log, places, abortSignal, onUnrecorded }, rows, concurrency);
    } finally {
      await log.close();
    }
  }
  return { name, count: rows.length, results };
}
