import { type HistoryPage, type HistoryPosition, readHistoryAfter } from '../api/chat.ts';
import type { CallOptions, Http } from '../api/http.ts';
import type { Message } from '../contract/messages.ts';
import { GapDetector, type HistoryGap, isNewestFirst } from './history.ts';
import {
  acceptPage,
  chooseCursor,
  forgiveCursors,
  hasUsableCursor,
  isConclusive,
  latestIds,
  MAX_LAG,
  refuseCursor,
  startTail,
  type TailState,
} from './tail-state.ts';
import type { FollowStart } from './types.ts';

interface Arrival {
  readonly message: Message;
  /** Whether the message existed when following began. */
  readonly isBacklog: boolean;
}

/** What one page brought. */
interface Arrivals {
  readonly messages: readonly Arrival[];
  /** Whether further pages follow. */
  readonly more: boolean;
  /** Whether to read them without a pause. */
  readonly isUrgent: boolean;
  /** Whether everything that existed at the start has now been read. */
  readonly hasCaughtUp: boolean;
  readonly gap: HistoryGap | undefined;
}

/** The history of a session that the service does not know yet. */
export const EMPTY_PAGE: HistoryPage = {
  messages: [],
  hasMore: false,
  hasNextLink: false,
  reachedByLink: false,
  isDeclaredEnd: false,
  total: undefined,
  respondedAt: undefined,
  requestedWaitMs: undefined,
};

/** One followed session: what was seen of it, and the answer that is being read page by page. */
export class FollowedSession {
  readonly id: string;
  /** Failed polls in a row. */
  failures = 0;
  /** Unreadable answers in a row. */
  unreadable = 0;
  /** Whether the next poll should use a new connection. */
  needsFreshConnection = false;
  /** Whether everything that existed at the start has been read. */
  isCaughtUp = false;
  /** Whether the service ever answered with its history. */
  wasRead = false;
  /** Whether it was reported that the service does not know the session. */
  isReportedUnknown = false;
  /** Whether replies that already existed count: only after a given message. */
  readonly countsBacklog: boolean;
  private readonly isFollowing: boolean;
  /** How many messages of the backlog to show. */
  private readonly backlogLimit: number;
  /** Arrivals that wait until it is known which are the last, or what precedes them; undefined if none has to wait. */
  private held: readonly Arrival[] | undefined;
  private tail: TailState;
  private readonly gaps: GapDetector;
  private pages: AsyncGenerator<HistoryPage, void, void> | undefined;
  /** The cursor that the current answer was asked with. */
  private cursor: string | undefined;
  /** Whether a page of the current answer has come. */
  private hasFirstPage = false;
  /** Whether to ask again with the same cursor. */
  private repeatsCursor = false;
  /** Whether the pages of the current answer lead from the newest message to the oldest. */
  private leadsBack = false;
  /** By the service's clock, when the first answer was complete: messages created later are new. */
  private readAt: number | undefined;
  /** Answers in a row that announced more but brought nothing new. */
  private emptyAnswers = 0;

  constructor(id: string, start: FollowStart, now: number, isFollowing: boolean) {
    this.id = id;
    this.isFollowing = isFollowing;
    this.countsBacklog = start.from === 'after';
    this.backlogLimit = start.from === 'last' ? start.count : Number.POSITIVE_INFINITY;
    this.held = start.from === 'last' ? [] : undefined;
    this.tail = startTail(start.from === 'last' ? { from: 'start' } : start, now);
    this.gaps = new GapDetector(this.backlogLimit);
  }

  /** The last ids seen, oldest first. */
  get latest(): readonly string[] {
    return latestIds(this.tail);
  }

  /** Whether some pages of the current answer have come: a failure then is about the link to the next page. */
  get isBetweenPages(): boolean {
    return this.pages !== undefined && this.hasFirstPage;
  }

  get hasCursor(): boolean {
    return this.cursor !== undefined;
  }

  /** Reads the next page. @param limits evaluated for every page @throws PartnerctlError */
  async poll(
    http: Http,
    sourceId: string,
    now: () => number,
    limits: () => Pick<CallOptions, 'retries' | 'timeoutMs' | 'freshConnection' | 'signal'>,
  ): Promise<HistoryPage> {
    if (!this.pages) {
      if (!this.repeatsCursor) this.cursor = chooseCursor(this.tail, now());
      this.hasFirstPage = false;
      const position: HistoryPosition = { source_id: sourceId, session_id: this.id, after_message_id: this.cursor };
      this.pages = readHistoryAfter(http, position, now, limits);
    }
    const { value, done } = await this.pages.next();
    this.wasRead = true;
    if (!done) return value;
    this.pages = undefined;
    return EMPTY_PAGE;
  }

  /** Takes in a page. @param now milliseconds since the epoch */
  accept(page: HistoryPage, now: number): Arrivals {
    this.failures = 0;
    this.unreadable = 0;
    this.needsFreshConnection = false;
    this.repeatsCursor = false;
    this.leadsBack = page.reachedByLink ? this.leadsBack : page.hasNextLink && isNewestFirst(page.messages);
    if (!page.hasMore) this.pages = undefined;
    const wasCatchingUp = !this.isCaughtUp;
    const isProof = isConclusive(this.tail, this.cursor);
    const { state, fresh } = acceptPage(this.tail, page.messages, now, this.hasFirstPage);
    this.tail = state;
    this.hasFirstPage = true;
    const arrivals = fresh.map((message) => ({ message, isBacklog: wasCatchingUp && !this.isCreatedSince(message) }));
    // An answer can be cut short without saying so. The backlog has been read once an answer brings nothing new, or
    // brings a message that was created since.
    const hasNew = arrivals.some(({ isBacklog }) => !isBacklog);
    const isUnsure = wasCatchingUp && !hasNew && (fresh.length > 0 || !isProof);
    const more = page.hasMore || isUnsure;
    if (!page.hasMore) this.readAt ??= page.respondedAt;
    if (!more) this.isCaughtUp = true;
    this.emptyAnswers = more && fresh.length === 0 ? this.emptyAnswers + 1 : 0;
    this.gaps.addPage(page, { isInitial: wasCatchingUp && this.cursor === undefined, fresh: fresh.length });
    return {
      messages: this.release(arrivals),
      more,
      // The cursor lags by no more than that: a service that keeps repeating itself ignores the cursor.
      isUrgent: more && this.emptyAnswers <= MAX_LAG,
      hasCaughtUp: wasCatchingUp && this.isCaughtUp,
      gap: this.isCaughtUp ? this.gaps.takeGap() : undefined,
    };
  }

  /** A poll failed. The next one starts after what has come or, if older pages are missing, asks the same again. */
  fail(): void {
    this.repeatsCursor ||= this.leadsBack && this.isBetweenPages && !this.isCaughtUp;
    this.failures += 1;
    this.needsFreshConnection = true;
    this.pages = undefined;
  }

  /** The service refused the request. @returns whether another cursor is worth a try */
  refuse(): boolean {
    this.pages = undefined;
    this.repeatsCursor = false;
    if (this.cursor !== undefined) {
      this.tail = refuseCursor(this.tail, this.cursor);
      if (hasUsableCursor(this.tail)) return true;
    }
    this.tail = forgiveCursors(this.tail);
    return false;
  }

  /** Whether the service says that it created a message after the first answer was complete. */
  private isCreatedSince({ created_at }: Message): boolean {
    if (!this.isFollowing || this.readAt === undefined || created_at === null) return false;
    return Date.parse(created_at) >= this.readAt;
  }

  /** What can be shown now: while catching up, only messages whose place is known. */
  private release(arrivals: readonly Arrival[]): readonly Arrival[] {
    if (this.leadsBack && !this.isCaughtUp) this.held ??= [];
    if (!this.held) return arrivals;
    const all = this.leadsBack ? [...arrivals, ...this.held] : [...this.held, ...arrivals];
    const backlog = all.filter(({ isBacklog }) => isBacklog);
    const shown = this.backlogLimit === 0 ? [] : backlog.slice(-this.backlogLimit);
    const held = [...shown, ...all.filter(({ isBacklog }) => !isBacklog)];
    this.held = this.isCaughtUp ? undefined : held;
    return this.isCaughtUp ? held : [];
  }
}
