import { hash } from 'node:crypto';
import type { NewMessage } from '../api/calls.ts';
import type { RecordFormat } from '../state-old/ledger.ts';
import type { KeyState } from '../state-old/once.ts';
import type { OpenReservation, Reservation } from '../state-old/once-records.ts';
import { isText, type LogRecord } from '../state-old/record.ts';

/** What the state file keeps of a message: ids, never its text. */
export interface MessageSnapshot {
  /** The base URL of the service. */
  readonly origin: string;
  readonly source_id: string;
  readonly session_id: string;
  readonly external_message_id: string;
}

function decodeSnapshot(record: LogRecord): MessageSnapshot | undefined {
  const { origin, source_id, session_id, external_message_id } = record;
  if (!isText(origin) || !isText(source_id) || !isText(session_id) || !isText(external_message_id)) return undefined;
  return { origin, source_id, session_id, external_message_id };
}

const TYPES = {
  reserved: 'message.sending',
  created: 'message.sent',
  adopted: 'message.adopted',
  released: 'message.released',
  unknown: 'message.unknown',
  forgotten: 'message.forgotten',
} as const;

/** How records of messages are written in the state file. */
export const MESSAGE_RECORDS: RecordFormat<MessageSnapshot> = {
  types: TYPES,
  reservationField: 'sending',
  remoteIdField: 'message_id',
  noun: 'a message',
  family: 'message.',
  decodeSnapshot,
};

const KEY_LENGTH = 24;

/** The key of a text in a session, 24 hexadecimal digits. A text may be sent many times, so the key may have many ids. */
export function messageKey(
  origin: string,
  { source_id, session_id, text }: Pick<NewMessage, 'source_id' | 'session_id' | 'text'>,
): string {
  return hash('sha256', JSON.stringify([origin, source_id, session_id, text]), 'hex').slice(0, KEY_LENGTH);
}

type Sending = KeyState<MessageSnapshot>['open'][number];

function idOf({ reservation }: OpenReservation<MessageSnapshot>): string {
  return reservation.snapshot.external_message_id;
}

/** Whether this living reservation of an id came before all others, none of which has been acknowledged. */
export function ownsId(
  { objects, open }: KeyState<MessageSnapshot>,
  { id, snapshot }: Reservation<MessageSnapshot>,
): boolean {
  const { external_message_id } = snapshot;
  if (objects.some((object) => object.snapshot.external_message_id === external_message_id)) return false;
  return open.find((each) => !each.isAbandoned && idOf(each) === external_message_id)?.reservation.id === id;
}

/** Returns the sends of a text that no acknowledgement followed and that no living process is repeating, oldest first. */
export function findUnacknowledged({ objects, open }: KeyState<MessageSnapshot>): readonly Sending[] {
  const settled = new Set(objects.map(({ snapshot }) => snapshot.external_message_id));
  for (const each of open) if (!each.isAbandoned) settled.add(idOf(each));
  return open.filter((each) => !settled.has(idOf(each)));
}
