import { normalizeName } from '../contract/field-names.ts';
import { sortOldestFirst } from '../contract/message-order.ts';
import type { Message } from '../contract/messages.ts';

const STATUS_FIELDS = ['status', 'state'];
const UNFINISHED = ['inprogress', 'streaming', 'generating'];
/** A text with one of these may be finished: `pending` may be about its delivery. Without a text, it is yet to come. */
const WITHOUT_TEXT = [
  ...UNFINISHED,
  'pending',
  'queued',
  'processing',
  'running',
  'thinking',
  'incomplete',
  'partial',
  'draft',
  'typing',
];

/** A service may mean something else by the status, so a text that stays as it is for this long is shown. */
const MAX_UNCHANGED_MS = 30_000;

/** Whether a message is a reply that the agent still writes, by its status. */
export function isUnfinished({ role, text, raw }: Message): boolean {
  if (role !== 'assistant') return false;
  const names = (text ?? '').trim() === '' ? WITHOUT_TEXT : UNFINISHED;
  return Object.entries(raw).some(
    ([key, value]) =>
      STATUS_FIELDS.includes(normalizeName(key)) && typeof value === 'string' && names.includes(normalizeName(value)),
  );
}

/**
 * Finds a reply that the agent still writes: its text comes later under the same id, which a request for the messages after
 * it would miss.
 */
export class UnfinishedReply {
  private seen = '';
  private seenAt = 0;

  /** Returns the last of some messages if it is to be read again. @param now milliseconds since the epoch */
  find(messages: readonly Message[], now: number): Message | undefined {
    const last = messages[sortOldestFirst(messages).at(-1) ?? 0];
    if (last === undefined || !isUnfinished(last)) return undefined;
    const text = last.text ?? '';
    const seen = `${last.message_id} ${text}`;
    if (seen !== this.seen) {
      this.seen = seen;
      this.seenAt = now;
    }
    return text.trim() === '' || now - this.seenAt < MAX_UNCHANGED_MS ? last : undefined;
  }
}
