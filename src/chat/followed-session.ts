import type { HistoryOptions, HistoryPage, HistoryPosition, HistoryReader } from '../api/history.ts';
import { EMPTY_PAGE } from '../api/history.ts';
import type { Message } from '../contract/messages.ts';
import { type SessionRef, sessionKey } from '../state-old/session-ref.ts';
import type { SessionStart } from './follow-types.ts';
import { GapDetector, type HistoryGap } from './gap-detector.ts';
import { createNewIdsError } from './poll-failure.ts';
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
import { UnfinishedReply } from './unfinished-reply.ts';

interface Arrival {
  readonly message: Message;
  /** Whether the message existed when following began. */
  readonly isBacklog: boolean;
}

/** What one page contained. */
interface Arrivals {
  readonly messages: readonly Arrival[];
  /** Whether it has messages that no earlier page had, including those that are held back. */
  readonly hasNew: boolean;
  /** Whether further pages follow. */
  readonly more: boolean;
  /** Whether to read them without a pause. */
  readonly isUrgent: boolean;
  /** Whether everything that existed at the start has now been read. */
  readonly hasCaughtUp: boolean;
  readonly gap: HistoryGap | undefined;
}

/** People repeat themselves, too, but not in this many pages in a row. */
const MAX_REPEATED_PAGES = 20;

/** One followed session: its tail state, and the response that is being read page by page. */
export class FollowedSession {
  readonly ref: SessionRef;
  readonly key: string;
  /** Polls that reached their time limit since the last response. */
  stalls = 0;
  /** Failed polls with nothing new between them. */
  failures = 0;
  /** Unreadable responses in a row. */
  unreadable = 0;
  /** Whether the next poll should use a new connection. */
  needsFreshConnection = false;
  /** Whether everything that existed at the start has been read. */
  isCaughtUp = false;
  /** Whether the service ever returned its history. */
  wasRead = false;
  /** Whether any of its messages was ever read. */
  hasMessages = false;
  /** Whether the `unknown-session` event was sent. */
  isReportedUnknown = false;
  /** Whether replies of the backlog count: only in a session that starts after a given message. */
  readonly countsBacklog: boolean;
  private readonly isFollowing: boolean;
  /** How many messages of the backlog to show. */
  private readonly backlogLimit: number;
  /** Arrivals held back until it is known which are the last; undefined to hold back none. */
  private held: readonly Arrival[] | undefined;
  private tail: TailState;
  private readonly gaps: GapDetector;
  private readonly unfinished = new UnfinishedReply();
  /** The last message of the current response so far, if the agent still writes it. */
  private unfinishedReply: Message | undefined;
  private pages: AsyncGenerator<HistoryPage, void, void> | undefined;
  /** The cursor of the current response. */
  private cursor: string | undefined;
  /** Whether the first page of the current response has arrived. */
  private hasFirstPage = false;
  /** When the first response was complete, by the service's clock: messages created later are new. */
  private readAt: number | undefined;
  /** Responses in a row that announced more but contained nothing new. */
  private emptyResponses = 0;
  /** Authors and texts of the last page. */
  private contents = '';
  /** Pages in a row that repeated authors and texts under new ids. */
  private repeatedPages = 0;

  constructor({ source_id, session_id, start }: SessionStart, now: number, isFollowing: boolean) {
    this.ref = { source_id, session_id };
    this.key = sessionKey(this.ref);
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

  /** Whether a page of the current response has arrived: a failure then concerns the link to the next page. */
  get isBetweenPages(): boolean {
    return this.pages !== undefined && this.hasFirstPage;
  }

  get hasCursor(): boolean {
    return this.cursor !== undefined;
  }

  /** Reads the next page. @throws PartnerctlError */
  async poll(reader: HistoryReader, options: HistoryOptions): Promise<HistoryPage> {
    if (!this.pages) {
      this.cursor = chooseCursor(this.tail, options.now());
      this.hasFirstPage = false;
      const position: HistoryPosition = {
        ...this.ref,
        after_message_id: this.cursor,
        newest: this.backlogLimit,
      };
      this.pages = reader.readAfter(position, options);
    }
    const { value, done } = await this.pages.next();
    this.wasRead = true;
    if (!done) return value;
    this.pages = undefined;
    return EMPTY_PAGE;
  }

  /**
   * Adds a page to the session. @param now milliseconds since the epoch
   * @throws ShapeError if the service gives its messages new ids in every response, which would be read without end
   */
  accept(page: HistoryPage, now: number): Arrivals {
    this.stalls = 0;
    this.unreadable = 0;
    this.hasMessages ||= page.messages.length > 0;
    this.needsFreshConnection = false;
    if (!page.hasMore) this.pages = undefined;
    const wasCatchingUp = !this.isCaughtUp;
    const isProof = isConclusive(this.tail, this.cursor);
    const messages = this.withoutUnfinished(page.messages, now);
    const { state, fresh } = acceptPage(this.tail, messages, now, this.hasFirstPage);
    this.tail = state;
    this.hasFirstPage = true;
    const arrivals = fresh.map((message) => ({ message, isBacklog: wasCatchingUp && !this.isCreatedSince(message) }));
    // A response can be cut short without saying so. The backlog has been read once a response contains nothing new, or
    // contains a message created after the start.
    const isPastStart = arrivals.some(({ isBacklog }) => !isBacklog);
    const isUnsure = wasCatchingUp && !isPastStart && (fresh.length > 0 || !isProof);
    const more = page.hasMore || isUnsure;
    if (!page.hasMore) this.readAt ??= page.respondedAt;
    if (!more) this.isCaughtUp = true;
    if (!more || fresh.length > 0) this.failures = 0;
    const contents = JSON.stringify(messages.map(({ role, text }) => [role, text]));
    this.repeatedPages = more && fresh.length > 0 && contents === this.contents ? this.repeatedPages + 1 : 0;
    this.contents = contents;
    if (this.repeatedPages >= MAX_REPEATED_PAGES) throw createNewIdsError(this.ref.session_id);
    this.emptyResponses = more && fresh.length === 0 ? this.emptyResponses + 1 : 0;
    // A message that is read again later is not missing.
    const read = page.messages.filter((message) => message === this.unfinishedReply || fresh.includes(message));
    this.gaps.addPage(page, { isInitial: wasCatchingUp && this.cursor === undefined, fresh: read.length });
    return {
      messages: this.release(arrivals),
      hasNew: fresh.length > 0,
      more,
      // The cursor lags by at most MAX_LAG: a service that repeats itself more often ignores the cursor.
      isUrgent: more && this.emptyResponses <= MAX_LAG,
      hasCaughtUp: wasCatchingUp && this.isCaughtUp,
      gap: this.isCaughtUp ? this.gaps.takeGap() : undefined,
    };
  }

  /**
   * Records a failed poll. The next one starts after the last arrival.
   * @param isStall whether the poll reached its time limit
   */
  fail(isStall: boolean): void {
    this.failures += 1;
    if (isStall) this.stalls += 1;
    this.needsFreshConnection = true;
    this.pages = undefined;
  }

  /** Records that the service refused the request. @returns whether to try another cursor */
  refuse(): boolean {
    this.pages = undefined;
    if (this.cursor !== undefined) {
      this.tail = refuseCursor(this.tail, this.cursor);
      if (hasUsableCursor(this.tail)) return true;
    }
    this.tail = forgiveCursors(this.tail);
    return false;
  }

  /** Takes the last message out if the agent still writes it. One of the page before counts once others follow it. */
  private withoutUnfinished(messages: readonly Message[], now: number): readonly Message[] {
    if (!this.isFollowing) return messages;
    const earlier = this.hasFirstPage ? this.unfinishedReply : undefined;
    const isRepeated = messages.some(({ message_id }) => message_id === earlier?.message_id);
    const all = earlier && !isRepeated ? [earlier, ...messages] : messages;
    this.unfinishedReply = this.unfinished.find(all, now);
    return all.filter((message) => message !== this.unfinishedReply);
  }

  /** Whether the service created a message after the first response was complete, according to its timestamp. */
  private isCreatedSince({ created_at }: Message): boolean {
    if (!this.isFollowing || this.readAt === undefined || created_at === null) return false;
    return Date.parse(created_at) >= this.readAt;
  }

  /** Returns the arrivals to show now: while catching up, only those whose position is known. */
  private release(arrivals: readonly Arrival[]): readonly Arrival[] {
    if (!this.held) return arrivals;
    const all = [...this.held, ...arrivals];
    const backlog = all.filter(({ isBacklog }) => isBacklog);
    const shown = this.backlogLimit === 0 ? [] : backlog.slice(-this.backlogLimit);
    const held = [...shown, ...all.filter(({ isBacklog }) => !isBacklog)];
    this.held = this.isCaughtUp ? undefined : held;
    return this.isCaughtUp ? held : [];
  }
}
