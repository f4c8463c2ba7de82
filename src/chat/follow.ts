import { setMaxListeners } from 'node:events';
import pLimit from 'p-limit';
import { type HistoryPage, HistoryReader, missingIn404 } from '../api/history.ts';
import type { Http } from '../api/http.ts';
import type { Message } from '../contract/messages.ts';
import { NotFoundError, PartnerctlError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { Health } from './health.ts';
import { Pace } from './pace.ts';
import { isFatal, noHistoryError, outageError } from './poll-failure.ts';
import { type ChatContext, type FollowStart, type SessionRef, sessionKey } from './session.ts';
import { Shown } from './shown.ts';

export type SessionEvent = { readonly ref: SessionRef } /** `isBacklog`: it existed at the start. */ & (
  | { readonly kind: 'message'; readonly message: Message; readonly isBacklog: boolean }
  /** Everything that existed at the start has been shown. */
  | { readonly kind: 'caught-up' }
  /** A complete response to a poll that began `at` a time (milliseconds since the epoch). */
  | { readonly kind: 'polled'; readonly at: number; readonly isQuiet: boolean }
  /** The service answered 404 for the session, as it may before the first message. It is treated as empty. */
  | { readonly kind: 'unknown-session'; readonly error: PartnerctlError }
  /** Messages may be missing. `isCertain`: the service says that it has more than it sent. */
  | { readonly kind: 'gap'; readonly evidence: string; readonly isCertain: boolean }
  /** The service cannot be reached; polling goes on. */
  | { readonly kind: 'outage'; readonly error: PartnerctlError }
  | { readonly kind: 'recovered'; readonly outageMs: number; readonly missed: number }
);

export interface FollowOptions {
  /** Whether to end once everything that exists has been read. */
  readonly once?: boolean;
  /** How long an outage may last, in milliseconds. Without a limit by default; with `once`, for 30 s. */
  readonly maxOutageMs?: number | undefined;
  /** A fixed pause between two polls of a session; adaptive by default. */
  readonly intervalMs?: number | undefined;
  /** Limits following beside --timeout, in milliseconds. */
  readonly limitMs?: number;
  /** How long the history may lack the message to start after, in milliseconds. */
  readonly lagMs?: number;
}

type Events<Result = void> = AsyncGenerator<SessionEvent, Result, void>;

const MAX_CONCURRENT_POLLS = 6;
const POLL_TIMEOUT_MS = 15_000;
/** Reading what exists may not wait for ever. */
const READ_OUTAGE_MS = 30_000;
/** With fewer messages, a response is hardly a page that was cut short. */
const MIN_FULL_PAGE = 10;

/** Follows the sessions of a command, which share the health of the connection. */
export class Follower {
  readonly health = new Health();
  readonly limit = pLimit(MAX_CONCURRENT_POLLS);
  readonly paces: Pace[] = [];
  readonly context: ChatContext;
  readonly http: Http;
  readonly options: FollowOptions;
  readonly reader: HistoryReader;
  /** Aborts at an interrupt, and when following ends. */
  readonly signal: AbortSignal;
  private readonly stopping = new AbortController();
  private readonly startedAt: number;

  constructor(context: ChatContext, http: Http, options: FollowOptions = {}) {
    this.context = context;
    this.http = http;
    this.options = options;
    this.reader = new HistoryReader(http);
    this.startedAt = context.clock.now();
    this.signal = AbortSignal.any([context.signals.interrupt, this.stopping.signal]);
    // Every session listens to it.
    setMaxListeners(0, this.signal);
  }

  /**
   * Follows one more session: yields each message once, oldest first, until the signal aborts or the time is up or,
   * with `once`, until everything was read. Failures of the network and the service are outages, not the end.
   * @throws PartnerctlError that polling again cannot resolve: 401, 402, 403 and, before a first page was read, most
   *   others; ServiceError or RateLimitError after an outage of `maxOutageMs`
   */
  follow(ref: SessionRef, start: FollowStart): Events {
    return new FollowedSession(this, ref, start).events();
  }

  /** Returns how long following may still take, in milliseconds. */
  remainingMs(): number {
    const { limitMs = Number.POSITIVE_INFINITY } = this.options;
    const { clock, flags } = this.context;
    const ofCommand = flags.timeout === undefined ? Number.POSITIVE_INFINITY : this.http.remainingMs();
    return Math.min(this.startedAt + limitMs - clock.now(), ofCommand);
  }

  /** Whether the history may still lack the message to start after. */
  mayLag(): boolean {
    return this.context.clock.now() < this.startedAt + (this.options.lagMs ?? 0);
  }

  isOver(): boolean {
    return this.signal.aborted || this.remainingMs() <= 0;
  }

  get maxOutageMs(): number {
    return this.options.maxOutageMs ?? (this.options.once ? READ_OUTAGE_MS : Number.POSITIVE_INFINITY);
  }

  /** Something is about to be said: polls all sessions now. */
  wake(): void {
    for (const pace of this.paces) pace.wake();
  }

  /** Ends following. */
  stop(): void {
    this.stopping.abort();
  }
}

function lastOf<Item>(items: readonly Item[], count: number): readonly Item[] {
  return items.slice(Math.max(0, items.length - count));
}

class FollowedSession {
  private readonly follower: Follower;
  private readonly clock: Clock;
  private readonly pace: Pace;
  private readonly ref: SessionRef;
  private readonly key: string;
  private readonly shown: Shown;
  /** How many messages of the backlog are wanted. */
  private readonly wanted: number;
  /** Messages of the backlog, until it is known which are the last; undefined to hold none. */
  private held: readonly Message[] | undefined;
  private isCaughtUp = false;
  /** Whether more may follow the last response, so that the next poll starts at the newest message, and at once. */
  private isDraining = false;
  private wasRead = false;
  private failures = 0;
  /** What is reported only once. */
  private readonly reported = new Set<SessionEvent['kind']>();

  constructor(follower: Follower, ref: SessionRef, start: FollowStart) {
    const { signal, paces, options } = follower;
    const { clock, random } = follower.context;
    this.follower = follower;
    this.clock = clock;
    this.pace = new Pace({ clock, random, signal, intervalMs: options.intervalMs, sessions: () => paces.length });
    paces.push(this.pace);
    this.ref = ref;
    this.key = sessionKey(ref);
    this.shown = new Shown(start, clock.now());
    this.wanted = start.from === 'last' ? start.count : Number.POSITIVE_INFINITY;
    this.held = start.from === 'last' ? [] : undefined;
  }

  async *events(): Events {
    while (!this.follower.isOver()) {
      const startedAt = this.clock.now();
      const cursor = this.shown.nextCursor(startedAt, this.isDraining);
      try {
        yield* this.complete(yield* this.readPages(cursor), cursor, startedAt);
      } catch (error) {
        // The end may have cut the poll short.
        if (this.follower.isOver()) return;
        yield* this.handleFailure(error, cursor, startedAt);
      }
      if (this.follower.options.once && this.isCaughtUp) return;
      if (!this.isDraining) await this.pause();
    }
  }

  /** @returns how many messages are new */
  private async *readPages(cursor: string | undefined): Events<number> {
    const { reader, limit, health, signal, options } = this.follower;
    const { ref, clock } = this;
    const isBacklog = !this.isCaughtUp;
    const position = { ...ref, after_message_id: cursor, ...(this.held && { newest: this.wanted }) };
    const timeoutMs = () => Math.max(1, Math.min(POLL_TIMEOUT_MS, this.leftMs()));
    const pages = reader.readAfter(position, () => ({ retries: 0, timeoutMs: timeoutMs(), signal }));
    let fresh = 0;
    for (let hasMore = true; hasMore; ) {
      const next = await limit(() => pages.next());
      if (next.done) break;
      const page = next.value;
      hasMore = page.hasMore;
      this.wasRead = true;
      const added = this.shown.add(page.messages, clock.now(), {
        isBacklog,
        holdsUnfinished: !options.once && !hasMore,
      });
      if (added.length > 0) health.arrive(this.key, added.length, clock.now());
      yield* this.reportGap(page, added.length, isBacklog && cursor === undefined);
      if (this.held) this.held = lastOf([...this.held, ...added], this.wanted);
      else for (const message of added) yield { kind: 'message', ref, message, isBacklog };
      fresh += added.length;
    }
    this.failures = 0;
    return fresh;
  }

  /** Reports a page that may not be all, once. @param isFromStart whether it should reach back to the first message */
  private *reportGap({ messages, unexplained, mayHideOlder }: HistoryPage, fresh: number, isFromStart: boolean) {
    const isEnough = isFromStart ? messages.length >= this.wanted : messages.length < MIN_FULL_PAGE;
    const isDoubtful = mayHideOlder && !isEnough && fresh === messages.length;
    const isCertain = unexplained !== undefined;
    if (this.reported.has('gap') || !(isCertain || isDoubtful)) return;
    this.reported.add('gap');
    const evidence = isCertain
      ? `the service announces more messages with ${unexplained}, but sends none`
      : `the service sent ${fresh} messages, newest first, without a link to older ones and without saying that these are all`;
    yield { kind: 'gap', ref: this.ref, evidence, isCertain } as const;
  }

  /** @throws what polling again cannot resolve, or has not resolved for `maxOutageMs` */
  private async *handleFailure(error: unknown, cursor: string | undefined, startedAt: number): Events {
    if (!(error instanceof PartnerctlError)) throw error;
    const { health, maxOutageMs } = this.follower;
    const { ref, clock } = this;
    this.isDraining = true;
    const isNotFound = error instanceof NotFoundError && !error.info.fromGateway && !this.wasRead;
    if (isNotFound && cursor !== undefined && this.follower.mayLag()) return await this.pause();
    // The service knows a session only from its first message on. Its code tells a source from a session.
    if (isNotFound && cursor === undefined && !/source/i.test(error.info.code ?? '')) {
      yield* this.treatAsEmpty(error, startedAt);
      return;
    }
    // A service may refuse a cursor that is not the newest message.
    if (isFatal(error, this.wasRead || cursor !== this.shown.newest)) throw error;
    this.failures += 1;
    if (health.fail(this.key, error, startedAt, clock.now())) yield { kind: 'outage', ref, error };
    const retryAt = Date.parse(error.info.retryAt ?? '');
    await this.pause(Number.isNaN(retryAt) ? 0 : retryAt - clock.now());
    if (this.outageLeftMs() <= 0) throw outageError(error, maxOutageMs);
  }

  private *treatAsEmpty(error: NotFoundError, startedAt: number): Generator<SessionEvent, void, void> {
    const { options, http } = this.follower;
    // A service that takes the source under another name may say that the source was not found.
    if (options.once && missingIn404(error) !== 'session') throw noHistoryError(error, http.baseUrl);
    if (!this.reported.has('unknown-session')) yield { kind: 'unknown-session', ref: this.ref, error };
    this.reported.add('unknown-session');
    yield* this.complete(0, undefined, startedAt);
  }

  /** Handles what a complete response means for the session. */
  private *complete(fresh: number, cursor: string | undefined, startedAt: number): Generator<SessionEvent, void, void> {
    const { ref } = this;
    if (fresh > 0) this.pace.touch();
    // After an older cursor, an empty response may be a page that was cut short.
    else if (!this.isCaughtUp && cursor === this.shown.newest) {
      this.isCaughtUp = true;
      for (const message of this.held ?? []) yield { kind: 'message', ref, message, isBacklog: true };
      this.held = undefined;
      yield { kind: 'caught-up', ref };
    }
    this.isDraining = !this.isCaughtUp || fresh >= MIN_FULL_PAGE;
    if (this.isDraining) return;
    const ended = this.follower.health.succeed(this.key, this.clock.now());
    if (ended) yield { kind: 'recovered', ref, ...ended };
    yield { kind: 'polled', ref, at: startedAt, isQuiet: fresh === 0 };
  }

  private outageLeftMs(): number {
    const { health, maxOutageMs } = this.follower;
    const now = this.clock.now();
    return (health.since ?? now) + maxOutageMs - now;
  }

  /** How long a poll or a pause may take. */
  private leftMs(): number {
    return Math.min(this.outageLeftMs(), this.follower.remainingMs());
  }

  private async pause(atLeastMs = 0): Promise<void> {
    await this.pace.wait(this.failures, atLeastMs, this.leftMs());
  }
}
