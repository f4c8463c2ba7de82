import type { NewMessage, SentMessage } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import type { Context } from '../cli/context.ts';
import { EXIT, InterruptedError, LocalError, PartnerctlError, RunFailure, withHint } from '../errors.ts';
import type { FoundSource } from './find-source.ts';
import type { SessionMemory } from './known-sessions.ts';
import { deriveExternalId, rowKey, textDigest } from './row-ids.ts';
import type { RowAck, RowRecorder } from './row-records.ts';
import type { RowResult } from './row-result.ts';
import type { SpooledRow } from './row-spool.ts';
import { isRefused, registerMessage, UNKNOWN_SOURCE_HINT } from './send-message.ts';

/** A row that was sent, skipped, or refused. */
export interface HandledRow {
  readonly result: RowResult;
  /** Resolves once its acknowledgement is recorded. */
  readonly recorded: Promise<void>;
}

interface SenderDeps {
  readonly context: Pick<Context, 'clock' | 'abortSignal' | 'signals' | 'progress'>;
  readonly http: Http;
  /** The source or agent of rows without a source_id. */
  readonly source: FoundSource | undefined;
  /** What earlier runs sent. */
  readonly acks: Map<string, RowAck>;
  readonly recorder: RowRecorder;
  readonly sessions: SessionMemory;
  readonly dryRun: boolean;
}

/** Whether all further messages would fail the same way: 401, 402, and 403. */
function stopsSending(error: unknown): error is PartnerctlError {
  return error instanceof PartnerctlError && (error.exitCode === EXIT.credentials || error.exitCode === EXIT.balance);
}

const ALREADY_RECORDED = Promise.resolve();

/** Sends rows, each of which becomes one message however often it is sent: see `deriveExternalId`. */
export class RowSender {
  private readonly deps: SenderDeps;
  /** The source of rows that name none. */
  private sourceId: string;
  /** The first failed line of each session in which one failed. */
  private readonly failedLines = new Map<string, number>();
  private stopped: PartnerctlError | undefined;

  constructor(deps: SenderDeps) {
    this.deps = deps;
    this.sourceId = deps.source?.source_id ?? '';
  }

  /** Sends the rows of a lane, one after the other, so that those of a session stay in order. */
  async *send(rows: AsyncIterable<SpooledRow>): AsyncGenerator<HandledRow> {
    for await (const row of rows) yield await this.sendRow(row);
  }

  private async sendRow(row: SpooledRow): Promise<HandledRow> {
    const { acks, recorder, sessions, dryRun } = this.deps;
    const message = this.messageOf(row);
    const initial = initialResult(row, message);
    const ack = acks.get(rowKey(message));
    // An earlier run may have been killed before it recorded the session.
    if (ack && !dryRun) await sessions.add(message);
    if (ack)
      return { result: { ...initial, status: 'skipped', message_id: ack.message_id }, recorded: ALREADY_RECORDED };
    if (dryRun) return { result: { ...initial, status: 'planned' }, recorded: ALREADY_RECORDED };
    const reason = this.reasonNotToSend(message);
    if (reason) return { result: { ...initial, error: reason }, recorded: ALREADY_RECORDED };
    try {
      const { message: sent, acknowledgement } = await this.post(row, message);
      const { message_id, created } = acknowledgement;
      const own = { key: rowKey(sent), digest: textDigest(sent.text), message_id };
      // The file may have the same id again.
      if (row.external_message_id !== null) acks.set(own.key, own);
      const recorded = recorder.add(own);
      await sessions.add(sent);
      return { result: { ...initialResult(row, sent), status: 'sent', message_id, created }, recorded };
    } catch (error) {
      this.failedLines.set(sessionOf(message), row.line);
      if (stopsSending(error)) this.stopped ??= error;
      if (error instanceof InterruptedError)
        return { result: { ...initial, status: 'unknown', error: unknownOutcome(error) }, recorded: ALREADY_RECORDED };
      return { result: { ...initial, status: 'failed', error }, recorded: ALREADY_RECORDED };
    }
  }

  private messageOf({ source_id: own, session_id, text, external_message_id, occurrence }: SpooledRow): NewMessage {
    const source_id = own ?? this.sourceId;
    const derived = external_message_id ?? deriveExternalId({ source_id, session_id, text, occurrence });
    return { source_id, session_id, text, external_message_id: derived };
  }

  /** Why a message is not sent; undefined to send it. */
  private reasonNotToSend(message: NewMessage): PartnerctlError | undefined {
    const { context, http } = this.deps;
    const { abortSignal, signals } = context;
    if (signals.interrupt.aborted) return new LocalError('Not sent, because the command was interrupted.');
    const reason: unknown = this.stopped ?? (abortSignal.aborted ? abortSignal.reason : undefined);
    if (reason instanceof PartnerctlError) {
      return new RunFailure(`Not sent. ${reason.message}`, reason, { details: null });
    }
    // The timer of the abort signal may be late.
    if (http.remainingMs() <= 0)
      return new LocalError('Not sent, because the command did not finish within --timeout.');
    const line = this.failedLines.get(sessionOf(message));
    if (line === undefined) return undefined;
    return new LocalError(`Not sent, because line ${line} of the same session failed.`, { details: { line } });
  }

  /** Registers a message. After a 404 for the remembered source of an agent, looks the source up, once, and sends again. */
  private async post(row: SpooledRow, message: NewMessage) {
    const { source } = this.deps;
    const remembered = row.source_id === null && source?.isRemembered && message.source_id === source.source_id;
    try {
      return { message, acknowledgement: await this.register(message) };
    } catch (error) {
      const isUnknown = error instanceof PartnerctlError && error.info.status === 404 && isRefused(error);
      if (!isUnknown) throw error;
      if (!remembered) throw withHint(error, { hint: UNKNOWN_SOURCE_HINT, details: {} });
      this.sourceId = (await source.renew()) ?? this.sourceId;
      const again = this.messageOf(row);
      return { message: again, acknowledgement: await this.register(again) };
    }
  }

  private async register(message: NewMessage): Promise<SentMessage> {
    const { clock, abortSignal, progress } = this.deps.context;
    const notice = async (): Promise<void> => undefined;
    return await registerMessage({ clock, abortSignal, progress, notice }, this.deps.http, message);
  }
}

/** Repeating a row is safe, so an interrupted send needs no check of its outcome. */
function unknownOutcome({ exitCode }: InterruptedError): InterruptedError {
  return new InterruptedError(
    'Interrupted. The message may have been sent. A repeat of the command registers it once.',
    exitCode,
  );
}

function sessionOf({ source_id, session_id }: NewMessage): string {
  return JSON.stringify([source_id, session_id]);
}

function initialResult({ line }: SpooledRow, { source_id, session_id, external_message_id }: NewMessage): RowResult {
  const ids = { line, source_id, session_id, external_message_id };
  return { ...ids, message_id: null, created: undefined, status: 'not_sent', error: undefined };
}
