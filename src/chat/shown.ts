import { normalizeName } from '../contract/field-names.ts';
import type { Message } from '../contract/messages.ts';
import type { FollowStart } from './session.ts';

/** A message may become visible so much after a later one, so every other poll, the lagging one, starts earlier. */
const LAG_MS = 10_000;
/** So many messages may be read again for that, in a busy session, and of those that existed at the start. */
const MAX_LAG = 500;
const MAX_BACKLOG_LAG = 8;
/** Memory does not grow with the chat. */
const MAX_IDS = 10_000;
/** A service may mean something else by a status, so a text that stays as it is for this long is shown. */
const MAX_UNCHANGED_MS = 30_000;

const STATUS = /^(status|state)$/;
const UNFINISHED = /^(inprogress|streaming|generating|pending|queued|processing|running|thinking|incomplete|partial)$/;

/** Whether a message is a reply that the agent still writes, by its status. */
export function isUnfinished({ role, raw }: Message): boolean {
  if (role !== 'assistant') return false;
  return Object.entries(raw).some(
    ([key, value]) =>
      STATUS.test(normalizeName(key)) && typeof value === 'string' && UNFINISHED.test(normalizeName(value)),
  );
}

/** What was shown of a session, and after which message to read on. Times in milliseconds since the epoch. */
export class Shown {
  private readonly ids: Set<string>;
  /** Where the next lagging poll starts, and what was shown since, oldest first. Undefined is the start of the session. */
  private recent: readonly { readonly id: string | undefined; readonly at: number }[];
  /** What precedes this message was shown by an earlier run, or its id is forgotten. */
  private oldest: string | undefined;
  private isLagging = false;
  private lagBeganAt: number;
  /** When the last lagging poll began that was complete: what was shown `LAG_MS` before it has been read again. */
  private lagReadAt: number;
  /** Whether the last page ended with a reply that the agent still writes. */
  isHolding = false;
  private unfinished = { key: '', since: 0 };

  constructor(start: FollowStart, now: number) {
    const known = start.from === 'after' ? [...(start.recent ?? []), start.message_id] : [];
    this.ids = new Set(known);
    this.lagBeganAt = now;
    this.lagReadAt = now;
    this.oldest = known[0];
    this.recent = (start.from === 'after' ? known : [undefined]).map((id) => ({ id, at: now }));
  }

  get newest(): string | undefined {
    return this.recent.at(-1)?.id;
  }

  /**
   * Returns the message to read after; undefined to read from the first one. Every other poll starts at the newest
   * message, because some services send no more than a page.
   * @param isDraining whether the response before may have been cut short
   */
  nextCursor(now: number, isDraining: boolean): string | undefined {
    if (this.isLagging && !isDraining) this.lagReadAt = this.lagBeganAt;
    this.isLagging = !isDraining && !this.isLagging;
    if (!this.isLagging) return this.newest;
    this.lagBeganAt = now;
    return this.recent[Math.max(this.lagIndex(this.recent), 0)]?.id;
  }

  /**
   * Adds the messages of a page. @returns those that are new
   * @param isBacklog whether they existed at the start
   * @param holdsUnfinished whether to leave out a reply at the end that the agent still writes, and what its tools say
   */
  add(
    messages: readonly Message[],
    now: number,
    { isBacklog, holdsUnfinished }: { readonly isBacklog: boolean; readonly holdsUnfinished: boolean },
  ): readonly Message[] {
    const start = this.oldest === undefined ? -1 : messages.findIndex(({ message_id }) => message_id === this.oldest);
    const last = messages.findLastIndex(({ role }) => role === 'assistant' || role === 'user');
    this.isHolding = holdsUnfinished && this.isBeingWritten(messages[last], now);
    const fresh: Message[] = [];
    // A service may repeat a message within a page.
    for (const message of messages.slice(start + 1, this.isHolding ? last : undefined)) {
      if (this.ids.has(message.message_id)) continue;
      this.ids.add(message.message_id);
      fresh.push(message);
    }
    if (fresh.length === 0) return fresh;
    const all = [...this.recent, ...fresh.map(({ message_id: id }) => ({ id, at: now }))];
    this.recent = all.slice(Math.max(this.lagIndex(all), 0)).slice(isBacklog ? -MAX_BACKLOG_LAG : -MAX_LAG);
    this.forgetOldest();
    return fresh;
  }

  private lagIndex(recent: Shown['recent']): number {
    return recent.findLastIndex(({ at }) => at <= this.lagReadAt - LAG_MS);
  }

  private forgetOldest(): void {
    if (this.ids.size <= MAX_IDS) return;
    for (const id of this.ids) {
      if (this.ids.size === MAX_IDS) break;
      this.ids.delete(id);
    }
    [this.oldest] = this.ids;
  }

  private isBeingWritten(message: Message | undefined, now: number): boolean {
    if (!message || !isUnfinished(message) || this.ids.has(message.message_id)) return false;
    const key = `${message.message_id} ${message.text}`;
    if (this.unfinished.key !== key) this.unfinished = { key, since: now };
    const isBlank = (message.text ?? '').trim() === '';
    return isBlank || now - this.unfinished.since < MAX_UNCHANGED_MS;
  }
}
