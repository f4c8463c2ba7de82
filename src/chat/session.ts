import { type HistoryPage, type HistoryPlace, historyAfter } from '../api/chat.ts';
import type { CallOptions, Http } from '../api/http.ts';
import type { Message } from '../contract/messages.ts';
import { MOST_BEHIND, SessionTail, type TailStart } from '../domain/tail.ts';

/** Where in a session a follower begins; `last` shows that many messages of what is there (0: only what is new). */
export type FollowStart = TailStart | { readonly from: 'last'; readonly count: number };

/** What one answer brought. */
export interface Arrived {
  readonly messages: readonly Message[];
  /** Whether they were there when the following began. */
  readonly backlog: boolean;
  /** Whether there are further pages. */
  readonly more: boolean;
  /** Whether to ask for them without a pause. */
  readonly atOnce: boolean;
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
  /** Whether the service ever answered with its history. */
  wasRead = false;
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
  /** Whether the first reading got to its end; what comes after that came to exist since. */
  private readOnce = false;
  /** Whether that counts: without following, all that is there is one. */
  private readonly follows: boolean;
  /** Answers in a row that promised more and brought nothing. */
  private stale = 0;

  constructor(id: string, start: FollowStart, now: number, follows: boolean) {
    this.id = id;
    this.follows = follows;
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
    this.wasRead = true;
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
    const isCatchingUp = !this.caughtUp;
    const backlog = isCatchingUp && !(this.follows && this.readOnce);
    const isConclusive = this.tail.isConclusive(this.asked);
    const fresh = this.tail.accept(page.messages, now);
    // An answer may be shorter than what is there and not say so: what was there has been read when nothing new comes.
    const more = page.more || (isCatchingUp && (fresh.length > 0 || !isConclusive));
    if (!page.more) this.readOnce = true;
    if (!more) this.caughtUp = true;
    this.stale = more && fresh.length === 0 ? this.stale + 1 : 0;
    // The cursor is no further behind than that: a service that goes on repeating does not heed it.
    const atOnce = more && this.stale <= MOST_BEHIND;
    return { messages: this.shown(fresh, backlog), backlog, more, atOnce };
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

  /** Whether the last question named a message to read after. */
  get hasCursor(): boolean {
    return this.asked !== undefined;
  }

  /**
   * The service refused the first page.
   * @returns whether that may have been for the cursor, so that another one is worth a try
   */
  refuse(): boolean {
    this.pages = undefined;
    if (this.asked !== undefined && this.tail.refuse(this.asked)) return true;
    // It refuses whatever it is asked: that was not for the cursors.
    this.tail.pardon();
    return false;
  }

  private shown(fresh: readonly Message[], backlog: boolean): readonly Message[] {
    if (!this.held) return fresh;
    const all = backlog ? [...this.held, ...fresh] : this.held;
    const held = this.keep === 0 ? [] : all.slice(-this.keep);
    const isOver = this.caughtUp || (this.follows && this.readOnce);
    this.held = isOver ? undefined : held;
    if (!isOver) return [];
    return backlog ? held : [...held, ...fresh];
  }
}
