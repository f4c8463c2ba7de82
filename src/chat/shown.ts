import type { Message } from '../contract/messages.ts';
import type { FollowStart } from './session.ts';

/** A message may become visible so much after a later one. */
const LAG_MS = 10_000;
/** So many messages may be read again for that, in a busy session. */
const MAX_LAG = 500;
/** What was created so much before the newest message of its page is not followed by late ones: an agent answers sooner. */
const MAX_LATE_MS = 60_000;
/** Memory does not grow with the chat. */
const MAX_IDS = 10_000;

/** The id of the message to read after; undefined is the start of the session. */
export type Cursor = string | undefined;

/** When a message was created; NaN if the service does not say. */
export const createdAt = ({ created_at }: Message): number => Date.parse(created_at ?? '');

/** What was shown of a session. Times in milliseconds since the epoch. */
export class Shown {
  private readonly ids: Set<string>;
  /** What was shown last, oldest first, and when. */
  private recent: readonly { readonly id: Cursor; readonly at: number }[];
  /** What precedes this message was shown by an earlier run, or its id is forgotten. */
  private oldest: Cursor;

  constructor(start: FollowStart, now: number) {
    const known = start.from === 'after' ? [...(start.recent ?? []), start.message_id] : [];
    this.ids = new Set(known);
    this.oldest = known[0];
    this.recent = (start.from === 'after' ? known : [undefined]).map((id) => ({ id, at: now }));
  }

  get newest(): Cursor {
    return this.recent.at(-1)?.id;
  }

  /**
   * Returns the message after which others may still become visible before the newest one.
   * @param readAt when the last complete reading after such a message began, never earlier than the one before
   */
  lagging(readAt: number): Cursor {
    this.recent = this.recent.slice(
      Math.max(
        this.recent.findLastIndex(({ at }) => at <= readAt - LAG_MS),
        0,
      ),
    );
    return this.recent[0]?.id;
  }

  /** Returns the messages of a page, oldest first, that were not shown. A service may repeat one within a page. */
  without(page: readonly Message[]): readonly Message[] {
    const start = this.oldest === undefined ? -1 : page.findIndex(({ message_id }) => message_id === this.oldest);
    const fresh = page.slice(start + 1).filter(({ message_id }) => !this.ids.has(message_id));
    return [...new Map(fresh.map((message) => [message.message_id, message])).values()];
  }

  /** Adds messages that are shown now, oldest first. */
  add(messages: readonly Message[], now: number): void {
    const newest = messages.at(-1);
    if (!newest) return;
    const isSettled = (message: Message): boolean => createdAt(message) < createdAt(newest) - MAX_LATE_MS;
    const added = messages.map((message) => ({
      id: message.message_id,
      at: isSettled(message) ? Number.NEGATIVE_INFINITY : now,
    }));
    this.recent = [...this.recent, ...added].slice(-MAX_LAG);
    for (const { id } of added) this.ids.add(id);
    this.forgetOldest();
  }

  private forgetOldest(): void {
    if (this.ids.size <= MAX_IDS) return;
    for (const id of this.ids) {
      if (this.ids.size === MAX_IDS) break;
      this.ids.delete(id);
    }
    [this.oldest] = this.ids;
  }
}
