import { hash } from 'node:crypto';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { NewMessage } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import {
  describeFileError,
  EXIT,
  InterruptedError,
  LocalError,
  PartnerctlError,
  RunFailure,
  withHint,
} from '../errors.ts';
import { errorCode } from '../platform/error-code.ts';
import { makeDirectories } from '../platform/files.ts';
import { merge } from './merge.ts';
import type { Places } from './places.ts';
import type { Row } from './rows.ts';
import { isRefused, registerMessage, UNKNOWN_SOURCE_HINT } from './send.ts';
import { sessionKey } from './session.ts';

/** What became of a row. */
export interface RowResult extends Omit<Row, 'text'> {
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

const KEY_BYTES = 12;

function keyOf(origin: string, { source_id, session_id, external_message_id, text }: NewMessage): string {
  const content = JSON.stringify([origin, source_id, session_id, external_message_id, text]);
  return hash('sha256', content, 'buffer').toString('hex', 0, KEY_BYTES);
}

/**
 * The messages that the service acknowledged, a line each: a hash of the message, and its message_id. It saves requests: what
 * it lacks is sent again under the same external id, and so registered once. A torn line is ignored for that reason.
 */
export class SentLog {
  private readonly path: string;
  private readonly file: FileHandle | undefined;
  private readonly origin: string;
  private readonly sent: Map<string, string | null>;

  private constructor(path: string, file: FileHandle | undefined, origin: string, sent: Map<string, string | null>) {
    this.path = path;
    this.file = file;
    this.origin = origin;
    this.sent = sent;
  }

  /**
   * Opens the log of this machine.
   * @param stateDirectory the directory of the local state
   * @param origin the base URL of the service
   * @throws LocalError
   */
  static async open(stateDirectory: string, origin: string, access: 'read' | 'write'): Promise<SentLog> {
    const path = join(stateDirectory, 'chat', 'sent.log');
    const isWritable = access === 'write';
    try {
      if (isWritable) await makeDirectories(join(stateDirectory, 'chat'));
      const text = await readFile(path, 'utf8').catch((error: unknown) => {
        if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return '';
        throw error;
      });
      const lines = text.split('\n').map((line) => /^([\da-f]{24}) (.*)$/.exec(line) ?? []);
      const sent = new Map(lines.flatMap(([, key, id]) => (key === undefined ? [] : [[key, id || null]])));
      const file = isWritable ? await open(path, 'a', 0o600) : undefined;
      return new SentLog(path, file, origin, sent);
    } catch (error) {
      throw new LocalError(`${path} cannot be ${isWritable ? 'written' : 'read'}.`, {
        why: describeFileError(error),
        cause: error,
      });
    }
  }

  /** Returns the message_id of an acknowledged message (null if it is not known); undefined for any other message. */
  find(message: NewMessage): string | null | undefined {
    return this.sent.get(keyOf(this.origin, message));
  }

  /** @throws LocalError */
  async add(message: NewMessage, messageId: string | null): Promise<void> {
    const key = keyOf(this.origin, message);
    this.sent.set(key, messageId);
    try {
      // The newline comes first, too, so that a torn line before it does not spoil this one.
      await this.file?.appendFile(`\n${key} ${messageId ?? ''}\n`);
    } catch (error) {
      throw new LocalError(`${this.path} cannot be written.`, { why: describeFileError(error), cause: error });
    }
  }

  async close(): Promise<void> {
    await this.file?.close();
  }
}

export interface SendRowsDeps {
  readonly http: Http;
  readonly log: SentLog;
  readonly places: Places;
  /** Aborts when the command is interrupted. */
  readonly interrupt: AbortSignal;
  /** Aborts also when its time is up. */
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
  return { ...row, message_id: null, created: undefined, status: 'not_sent', error: undefined };
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
    const { interrupt, abortSignal, http } = this.deps;
    if (interrupt.aborted) return new LocalError('Not sent, because the command was interrupted.');
    const reason: unknown = this.stopped ?? (abortSignal.aborted ? abortSignal.reason : undefined);
    if (reason instanceof PartnerctlError) {
      return new RunFailure(`Not sent. ${reason.message}`, reason, { details: null });
    }
    // The timer of the abort signal may be late.
    if (http.remainingMs() <= 0) {
      return new LocalError('Not sent, because the command did not finish within --timeout.');
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
export function planRows(rows: readonly Row[], log: SentLog): readonly RowResult[] {
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
export async function* sendRows(
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
