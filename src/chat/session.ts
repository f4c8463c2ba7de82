import { type HistoryPage, type HistoryPlace, historyAfter } from '../api/chat.ts';
import type { CallOptions, Http } from '../api/http.ts';
import type { Message } from '../contract/messages.ts';
import { SessionTail, type TailStart } from '../domain/tail.ts';

/** Where in a session a follower begins; `last` shows that many messages of what is there (0: only what is new). */
export type FollowStart = TailStart | { readonly from: 'last'; readonly count: number };

/** What one answer brought. */
export interface Arrived {
  readonly messages: readonly Message[];
  /** Whether they were there when the following began. */
  readonly backlog: boolean;
  /** Whether there are further pages. */
  readonly more: boolean;
}

/** One followed session: its bookkeeping, and the pages that it is being read through. */
export class FollowedSession {
  readonly id: string;
  /** Failed polls in a row. */
  failures = 0;
  /** Whether the next poll had better use a connection of its own. */
  suspicious = false;
  /** Unreadable answers in a row. */
  unreadable = 0;
  /** Whether everything that was there in the beginning has been read. */
  caughtUp = false;
  /** Whether what was there in the beginning counts as a reply: only behind a given message. */
  readonly backlogCounts: boolean;
  /** What `last` holds back until it is known to be the last. */
  private held: Message[] | undefined;
  private readonly keep: number;
  private readonly tail: SessionTail<Message>;
  private pages: AsyncGenerator<HistoryPage, void, void> | undefined;
  /** The cursor that the pages began with. */
  private asked: string | undefined;
  private midway = false;

  constructor(id: string, start: FollowStart, now: number) {
    this.id = id;
    this.backlogCounts = start.from === 'after';
    this.keep = start.from === 'last' ? start.count : 0;
    this.held = start.from === 'last' ? [] : undefined;
    this.tail = new SessionTail(start.from === 'last' ? { from: 'start' } : start, now);
  }

  /**
   * Asks for the next page.
   * @param limits asked again for every page
   */
  async poll(
    http: Http,
    sourceId: string,
    now: () => number,
    limits: () => Pick<CallOptions, 'retries' | 'timeoutMs' | 'freshConnection' | 'signal'>,
  ): Promise<HistoryPage> {
    if (!this.pages) {
      this.asked = this.tail.cursor(now());
      this.midway = false;
      const place: HistoryPlace = { source_id: sourceId, session_id: this.id, after_message_id: this.asked };
      this.pages = historyAfter(http, place, now, limits);
    }
    const { value, done } = await this.pages.next();
    if (!done) return value;
    this.pages = undefined;
    return { messages: [], more: false, waitMs: undefined };
  }

  accept(page: HistoryPage, now: number): Arrived {
    this.failures = 0;
    this.unreadable = 0;
    this.suspicious = false;
    this.midway = true;
    if (!page.more) this.pages = undefined;
    const backlog = !this.caughtUp;
    const isConclusive = this.tail.isConclusive(this.asked);
    const fresh = this.tail.accept(page.messages, now);
    // An answer may be shorter than what is there and not say so: what was there has been read when nothing new comes.
    const more = page.more || (backlog && (fresh.length > 0 || !isConclusive));
    if (!more) this.caughtUp = true;
    return { messages: this.shown(fresh), backlog, more };
  }

  /** A poll failed: the next one begins anew behind what has come. */
  fail(): void {
    this.failures += 1;
    this.suspicious = true;
    this.pages = undefined;
  }

  /** Whether some of the pages have come: what fails now is the link to the next one. */
  get isMidway(): boolean {
    return this.pages !== undefined && this.midway;
  }

  /**
   * The service refused the first page.
   * @returns whether that may have been for the cursor, so that another one is worth a try
   */
  refuse(): boolean {
    this.pages = undefined;
    return this.asked !== undefined && this.tail.refuse(this.asked);
  }

  private shown(fresh: readonly Message[]): readonly Message[] {
    if (!this.held) return fresh;
    const held = this.keep === 0 ? [] : [...this.held, ...fresh].slice(-this.keep);
    this.held = this.caughtUp ? undefined : held;
    return this.caughtUp ? held : [];
  }
}
