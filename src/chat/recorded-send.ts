import { randomUUID } from 'node:crypto';
import type { NewMessage } from '../api/chat.ts';
import type { Http } from '../api/http.ts';
import type { Context } from '../cli/context.ts';
import { LocalError, type PartnerctlError, UsageError } from '../errors.ts';
import { joinSentences } from '../output/sentences.ts';
import { fileStore } from '../state-old/file-store.ts';
import { openLedger } from '../state-old/ledger.ts';
import { type OnceDeps, readKey } from '../state-old/once.ts';
import { type Reservation, stampRecord } from '../state-old/once-records.ts';
import { describeThisProcess, hasEnded } from '../state-old/owner.ts';
import { fieldText, randomRecordId } from '../state-old/record.ts';
import { lineWarner } from '../state-old/unusable-lines.ts';
import { findUnacknowledged, MESSAGE_RECORDS, type MessageSnapshot, messageKey, ownsId } from './message-records.ts';

/** A text to send to a session. */
interface Outgoing extends Pick<NewMessage, 'source_id' | 'session_id' | 'text'> {
  /** The id that the user gave, if any. */
  readonly external_message_id: string | undefined;
  /** Whether to send another message, even if an earlier one was not acknowledged. */
  readonly isAnother: boolean;
}

/** The log, and the key of the text in it. */
interface SendLog extends OnceDeps<MessageSnapshot> {
  readonly key: string;
  readonly warn: Context['warn'];
}

/** A send whose id is in the state file, so that a repeat goes under the same id if this run is killed. */
export class RecordedSend {
  readonly external_message_id: string;
  /** When an earlier run sent the text without an acknowledgement, if this run repeats that send. ISO 8601. */
  readonly repeats: string | undefined;
  private readonly log: SendLog | undefined;
  private readonly reservation: Reservation<MessageSnapshot> | undefined;

  /** @param reservation undefined if nothing is recorded of this send */
  constructor(id: string, repeats?: string, log?: SendLog, reservation?: Reservation<MessageSnapshot>) {
    this.external_message_id = id;
    this.repeats = repeats;
    this.log = log;
    this.reservation = reservation;
  }

  /** Whether no other process is sending, or has sent, this message. */
  async isFirst(): Promise<boolean> {
    const { log, reservation } = this;
    return !log || !reservation || ownsId(await readKey(log.key, log), reservation);
  }

  /**
   * Records the acknowledgement, so that the same text is sent as another message from now on.
   * @param messageId null if neither the response nor the history has it
   */
  async acknowledge(messageId: string | null): Promise<void> {
    if (messageId === null) return await this.end('released', 'acknowledged_without_id');
    const { log, reservation } = this;
    if (!log || !reservation) return;
    const { key, snapshot, id } = reservation;
    const record = {
      kind: 'created',
      ...stampRecord(log),
      key,
      snapshot,
      reservation: id,
      remoteId: messageId,
    } as const;
    await this.append(() => log.ledger.append(record));
  }

  /** Records that the send failed. @param isRefused whether the failure proves that nothing was registered */
  async fail(isRefused: boolean): Promise<void> {
    await (isRefused ? this.end('released', 'refused') : this.end('unknown', 'no_answer'));
  }

  private async end(kind: 'released' | 'unknown', reason: string): Promise<void> {
    const { log, reservation } = this;
    if (!log || !reservation) return;
    const record = { kind, ...stampRecord(log), key: reservation.key, reservation: reservation.id, reason } as const;
    await this.append(() => log.ledger.append(record));
  }

  /** The outcome at the service counts more than a record that cannot be written. */
  private async append(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      if (!(error instanceof LocalError)) throw error;
      await this.log?.warn(
        joinSentences(`${error.message}\nThe next message with this text goes under the same external id.`),
      );
    }
  }
}

async function openLog(context: Context, origin: string, message: Outgoing): Promise<SendLog> {
  const path = await context.statePath();
  const key = messageKey(origin, message);
  const warn = (text: string): Promise<void> => context.warn(text);
  const store = fileStore(path, context.redact).open({ containing: [fieldText('key', key)] });
  const ledger = openLedger(store, MESSAGE_RECORDS, { onUnusable: lineWarner(path, warn) });
  const owner = describeThisProcess();
  return { key, ledger, owner, hasEnded, clock: context.clock, newId: randomRecordId, warn };
}

async function warnUnrecorded({ warn }: Pick<Context, 'warn'>, { message }: PartnerctlError): Promise<void> {
  const advice = 'If this command is killed, repeating it may register the message twice. --external-id prevents that.';
  await warn(joinSentences(`${message}\n${advice}`));
}

/** Records that this process is sending the message. If that fails, warns and lets the message be sent. */
async function reserve(log: SendLog, snapshot: MessageSnapshot, repeats?: string): Promise<RecordedSend> {
  const { key, owner, ledger } = log;
  const { external_message_id } = snapshot;
  const item = { key, snapshot, owner, deadline: null, remoteIdsSeen: null };
  const reservation = { kind: 'reserved', ...stampRecord(log), ...item } as const;
  try {
    await ledger.append(reservation);
    return new RecordedSend(external_message_id, repeats, log, reservation);
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    await warnUnrecorded(log, error);
    return new RecordedSend(external_message_id, repeats);
  }
}

async function record(log: SendLog, origin: string, message: Outgoing): Promise<RecordedSend> {
  const { source_id, session_id, external_message_id: ownId, isAnother } = message;
  const unacknowledged = findUnacknowledged(await readKey(log.key, log));
  if (ownId !== undefined) {
    const same = unacknowledged.find(({ reservation }) => reservation.snapshot.external_message_id === ownId);
    return same ? await reserve(log, same.reservation.snapshot) : new RecordedSend(ownId);
  }
  if (isAnother && unacknowledged.length > 0) {
    const records = unacknowledged.map(({ reservation }) => reservation.id);
    await log.ledger.append({ kind: 'forgotten', ...stampRecord(log), key: log.key, records, lines: [] });
  }
  for (const { reservation: earlier } of isAnother ? [] : unacknowledged) {
    const repeat = await reserve(log, earlier.snapshot, earlier.at);
    if (await repeat.isFirst()) return repeat;
    // Another process is repeating this send.
    await repeat.fail(true);
  }
  return await reserve(log, { origin, source_id, session_id, external_message_id: randomUUID() });
}

/**
 * Records the external id of a message before it is sent. If an earlier run sent the same text to the session and got no
 * acknowledgement, its id is used again: the service registers a message once per id. A living process that is sending
 * the same text is not such a run. Without a usable state file, warns and lets the message be sent.
 * @throws UsageError if --state is empty, InputError if an id contains the token
 */
export async function recordSend(context: Context, http: Http, message: Outgoing): Promise<RecordedSend> {
  try {
    return await record(await openLog(context, http.baseUrl, message), http.baseUrl, message);
  } catch (error) {
    const isWithoutHome = error instanceof UsageError && context.flags.state === undefined;
    if (!(error instanceof LocalError) && !isWithoutHome) throw error;
    // With the user's own id, a repeat is safe without a record.
    if (message.external_message_id !== undefined) return new RecordedSend(message.external_message_id);
    await warnUnrecorded(context, error);
    return new RecordedSend(randomUUID());
  }
}
