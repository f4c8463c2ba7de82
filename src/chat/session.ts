import { type HistoryPage, type HistoryPosition, readHistoryAfter } from '../api/chat.ts';
import type { CallOptions, Http } from '../api/http.ts';
import type { Message } from '../contract/messages.ts';
import { Extent, type Gap } from './extent.ts';
import { isNewestFirst, MOST_BEHIND, SessionTail, type TailStart } from './tail.ts';

/** Where in a session a follower begins; `last` shows that many messages of what is there (0: only what is new). */
export type FollowStart = TailStart | { readonly from: 'last'; readonly count: number };

interface Arrival {
  readonly message: Message;
  /** Whether it was there when the following began. */
  readonly backlog: boolean;
}

/** What one answer brought. */
interface Arrived {
  readonly messages: readonly Arrival[];
  /** Whether there are further pages. */
  readonly more: boolean;
  /** Whether to ask for them without a pause. */
  readonly atOnce: boolean;
  /** Whether everything that was there in the beginning has been read with this. */
  readonly isRead: boolean;
  /** What is missing, or may be, as far as can be told. */
  readonly gap: Gap | undefined;
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
  /** Whether the service said that it does not know the session. */
  wasUnknown = false;
  /** Whether what was there in the beginning counts as a reply: only behind a given message. */
  readonly backlogCounts: boolean;
  /** What is held back until it is known to be the last, or where it belongs. */
  private held: Arrival[] | undefined;
  private keep: number;
  private readonly tail: SessionTail<Message>;
  private readonly extent: Extent;
  private pages: AsyncGenerator<HistoryPage, void, void> | undefined;
  /** The cursor that the pages began with. */
  private asked: string | undefined;
  /** Whether the same is to be asked once more. */
  private repeats = false;
  private midway = false;
  /** The moment of the service at which the first reading got to an end; what was made after that came since. */
  private readAt: number | undefined;
  /** Whether that counts: without following, all that is there is one. */
  private readonly follows: boolean;
  /** Whether the pages that are being read lead from the newest to the oldest. */
  private leadsBack = false;
  /** Answers in a row that promised more and brought nothing. */
  private stale = 0;

  constructor(id: string, start: FollowStart, now: number, follows: boolean) {
    this.id = id;
    this.follows = follows;
    this.backlogCounts = start.from === 'after';
    this.keep = start.from === 'last' ? start.count : Number.POSITIVE_INFINITY;
    this.held = start.from === 'last' ? [] : undefined;
    this.tail = new SessionTail(start.from === 'last' ? { from: 'start' } : start, now);
    this.extent = new Extent(this.keep);
  }

  /** The last messages seen, oldest first. */
  get latest(): readonly string[] {
    return this.tail.latest;
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
      if (!this.repeats) this.asked = this.tail.cursor(now());
      this.midway = false;
      const place: HistoryPosition = { source_id: sourceId, session_id: this.id, after_message_id: this.asked };
      this.pages = readHistoryAfter(http, place, now, limits);
    }
    const { value, done } = await this.pages.next();
    this.wasRead = true;
    if (!done) return value;
    this.pages = undefined;
    return NOTHING;
  }

  accept(page: HistoryPage, now: number): Arrived {
    this.failures = 0;
    this.unreadable = 0;
    this.suspicious = false;
    this.repeats = false;
    this.leadsBack = page.reachedByLink ? this.leadsBack : page.hasNextLink && isNewestFirst(page.messages);
    const isFurther = this.midway;
    this.midway = true;
    if (!page.hasMore) this.pages = undefined;
    const isCatchingUp = !this.caughtUp;
    const isConclusive = this.tail.isConclusive(this.asked);
    const fresh = this.tail.accept(page.messages, now, isFurther);
    const arrivals = fresh.map((message) => ({ message, backlog: isCatchingUp && !this.cameSince(message) }));
    // An answer may be shorter than what is there and not say so: what was there has been read when nothing new comes,
    // or something that came to exist only since.
    const isPresent = arrivals.some(({ backlog }) => !backlog);
    const isUnsure = isCatchingUp && !isPresent && (fresh.length > 0 || !isConclusive);
    const more = page.hasMore || isUnsure;
    if (!page.hasMore) this.readAt ??= page.respondedAt;
    if (!more) this.caughtUp = true;
    this.stale = more && fresh.length === 0 ? this.stale + 1 : 0;
    this.extent.came(page, { isBeginning: isCatchingUp && this.asked === undefined, fresh: fresh.length });
    return {
      messages: this.shown(arrivals),
      more,
      // The cursor is no further behind than that: a service that goes on repeating does not heed it.
      atOnce: more && this.stale <= MOST_BEHIND,
      isRead: isCatchingUp && this.caughtUp,
      gap: this.caughtUp ? this.extent.gap() : undefined,
    };
  }

  /** A poll failed: the next one begins anew behind what has come, or at the newest where the rest is older. */
  fail(): void {
    this.repeats ||= this.leadsBack && this.isMidway && !this.caughtUp;
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
    this.repeats = false;
    if (this.asked !== undefined && this.tail.refuse(this.asked)) return true;
    // It refuses whatever it is asked: that was not for the cursors.
    this.tail.pardon();
    return false;
  }

  /** Whether a message came to exist after the first reading got to an end, by what the service says itself. */
  private cameSince({ created_at }: Message): boolean {
    if (!this.follows || this.readAt === undefined || created_at === null) return false;
    return Date.parse(created_at) >= this.readAt;
  }

  private shown(arrivals: readonly Arrival[]): readonly Arrival[] {
    if (this.leadsBack && !this.caughtUp) this.held ??= [];
    if (!this.held) return arrivals;
    const all = this.leadsBack ? [...arrivals, ...this.held] : [...this.held, ...arrivals];
    const backlog = all.filter((arrival) => arrival.backlog);
    const held = [...(this.keep === 0 ? [] : backlog.slice(-this.keep)), ...all.filter((arrival) => !arrival.backlog)];
    this.held = this.caughtUp ? undefined : held;
    return this.caughtUp ? held : [];
  }
}

/** What a session is that the service does not know yet, because nothing was said in it. */
export const NOTHING: HistoryPage = {
  messages: [],
  hasMore: false,
  hasNextLink: false,
  reachedByLink: false,
  isDeclaredEnd: false,
  total: undefined,
  respondedAt: undefined,
  requestedWaitMs: undefined,
};
