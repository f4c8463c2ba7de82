import { setMaxListeners } from 'node:events';
import pLimit from 'p-limit';
import { type HistoryPage, MissingMessage, missingIn404, readHistory } from '../api/history.ts';
import type { Http } from '../api/http.ts';
import { SessionCheck } from '../api/session-check.ts';
import type { Message, SessionRef } from '../contract/messages.ts';
import { NotFoundError, PartnerctlError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { emitted } from '../platform/emitted.ts';
import { Health, isFatal, noHistoryError } from './health.ts';
import { Pace } from './pace.ts';
import { type ChatContext, type FollowStart, sessionKey } from './session.ts';
import { Shown } from './shown.ts';

export type SessionEvent = { readonly ref: SessionRef } /** `isBacklog`: it existed at the start. */ & (
  | { readonly kind: 'message'; readonly message: Message; readonly isBacklog: boolean }
  /** Everything that existed at the start has been shown. */
  | { readonly kind: 'caught-up' }
  /** A complete response to a poll that began `at` a time (milliseconds since the epoch). */
  | { readonly kind: 'polled'; readonly at: number; readonly isQuiet: boolean }
  /** The service answered 404 for the session, as it may before the first message. It is treated as empty. */
  | { readonly kind: 'unknown-session' }
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
  /** How long to follow without --timeout, in milliseconds. Without a limit by default. */
  readonly limitMs?: number;
}

/** Resolves when the consumer of the events wants more. */
export type Emit<Event> = (event: Event) => Promise<void>;

interface Poll {
  readonly startedAt: number;
  readonly cursor: string | undefined;
}

const MAX_CONCURRENT_POLLS = 6;
const POLL_TIMEOUT_MS = 15_000;
/** How long the history may lack the message to start after, which may have been registered just now. */
const REGISTRATION_LAG_MS = 10_000;
/** Reading what exists may not wait for ever. */
const READ_OUTAGE_MS = 30_000;
/** With fewer messages, a response is hardly a page that was cut short. */
const MIN_FULL_PAGE = 10;

/** Follows the sessions of a command, which share the health of the connection. */
export class Follower {
  readonly health: Health;
  readonly sessionCheck: SessionCheck;
  readonly limit = pLimit(MAX_CONCURRENT_POLLS);
  readonly paces: Pace[] = [];
  readonly context: ChatContext;
  readonly http: Http;
  readonly options: FollowOptions;
  /** Aborts at an interrupt, and when following ends. */
  readonly signal: AbortSignal;
  private readonly stopping = new AbortController();
  readonly startedAt: number;

  constructor(context: ChatContext, http: Http, options: FollowOptions = {}) {
    const { once, maxOutageMs = once ? READ_OUTAGE_MS : Number.POSITIVE_INFINITY } = options;
    this.context = context;
    this.http = http;
    this.options = options;
    this.health = new Health(context.clock, maxOutageMs);
    this.sessionCheck = new SessionCheck(http);
    this.startedAt = context.clock.now();
    this.signal = AbortSignal.any([context.signals.interrupt, this.stopping.signal]);
    this.signal.addEventListener('abort', () => this.wake(), { once: true });
    // Every request listens to it.
    setMaxListeners(0, this.signal);
  }

  /**
   * Follows one more session: emits each message once, oldest first, until the signal aborts or the time is up or,
   * with `once`, until everything was read. Failures of the network and the service are outages, not the end.
   * @throws PartnerctlError that polling again cannot resolve: 401, 402, 403 and, before a first page was read, most
   *   others; ServiceError or RateLimitError after an outage of `maxOutageMs`
   */
  follow(ref: SessionRef, start: FollowStart, emit: Emit<SessionEvent>): Promise<void> {
    return new FollowedSession(this, ref, start, emit).run();
  }

  /** Yields what `act` emits while it follows sessions. They end when the consumer stops. @throws as `act` */
  events<Event>(act: (emit: Emit<Event>) => Promise<unknown>): AsyncGenerator<Event, void, void> {
    return emitted(act, () => this.stop());
  }

  remainingMs(): number {
    const { limitMs = Number.POSITIVE_INFINITY } = this.options;
    const { clock, flags } = this.context;
    return Math.min(this.startedAt + (flags.timeout ?? limitMs) - clock.now(), this.http.remainingMs());
  }

  isOver(): boolean {
    return this.signal.aborted || this.remainingMs() <= 0;
  }

  wake(): void {
    for (const pace of this.paces) pace.wake();
  }

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
  private readonly emit: Emit<SessionEvent>;
  private readonly key: string;
  private readonly shown: Shown;
  private readonly wanted: number;
  /** Messages of the backlog, until it is known which are the last; undefined to hold none. */
  private held: readonly Message[] | undefined;
  private isCaughtUp = false;
  /** Whether more may follow the last response, so that the next poll starts at the newest message, and at once. */
  private isDraining = false;
  private wasRead = false;
  private readonly reported = new Set<SessionEvent['kind']>();

  constructor(follower: Follower, ref: SessionRef, start: FollowStart, emit: Emit<SessionEvent>) {
    const { paces, options } = follower;
    const { clock, random } = follower.context;
    this.follower = follower;
    this.clock = clock;
    this.pace = new Pace({ clock, random, intervalMs: options.intervalMs, sessions: () => paces.length });
    paces.push(this.pace);
    this.ref = ref;
    this.emit = emit;
    this.key = sessionKey(ref);
    this.shown = new Shown(start, clock.now());
    this.wanted = start.from === 'last' ? start.count : Number.POSITIVE_INFINITY;
    this.held = start.from === 'last' ? [] : undefined;
  }

  async run(): Promise<void> {
    const { follower } = this;
    while (!follower.isOver()) {
      const startedAt = this.clock.now();
      const poll = { startedAt, cursor: this.shown.nextCursor(startedAt, this.isDraining) };
      try {
        await this.complete(poll, await this.readPages(poll));
      } catch (error) {
        // The end may have cut the poll short.
        if (follower.isOver()) return;
        await this.handleFailure(poll, error);
      }
      if (follower.options.once && this.isCaughtUp) return;
      if (!this.isDraining) await this.pause();
    }
  }

  /** @returns how many messages are new */
  private async readPages({ cursor }: Poll): Promise<number> {
    const { http, limit, health, signal, options, sessionCheck } = this.follower;
    const { ref, clock, wanted } = this;
    const isBacklog = !this.isCaughtUp;
    const position = { ...ref, after_message_id: cursor, ...(this.held && { newest: wanted }) };
    const timeoutMs = () => Math.max(1, Math.min(POLL_TIMEOUT_MS, this.leftMs()));
    const limits = () => ({ retries: 0, timeoutMs: timeoutMs(), signal });
    const pages = readHistory(http, position, limits);
    let fresh = 0;
    for (let hasMore = true; hasMore; ) {
      const { value: page } = await limit(() => pages.next());
      if (!page) break;
      hasMore = page.hasMore;
      await sessionCheck.check(ref, page.messages, limits);
      this.wasRead = true;
      const holdsUnfinished = !options.once && !hasMore;
      const added = this.shown.add(page.messages, clock.now(), { isBacklog, holdsUnfinished });
      if (added.length > 0) health.arrive(this.key, added.length);
      await this.reportGap(page, added.length, isBacklog && cursor === undefined);
      if (this.held) this.held = lastOf([...this.held, ...added], wanted);
      else for (const message of added) await this.emit({ kind: 'message', ref, message, isBacklog });
      fresh += added.length;
    }
    return fresh;
  }

  /** Reports a page that may not be all, once. @param isFromStart whether it should reach back to the first message */
  private async reportGap(page: HistoryPage, fresh: number, isFromStart: boolean) {
    const { messages, unexplained, leadsOn, mayHideOlder } = page;
    const isEnough = isFromStart ? messages.length >= this.wanted : messages.length < MIN_FULL_PAGE;
    const isDoubtful = mayHideOlder && !isEnough && fresh === messages.length;
    const isCertain = unexplained !== undefined && !(leadsOn && fresh > 0);
    if (this.reported.has('gap') || !(isCertain || isDoubtful)) return;
    this.reported.add('gap');
    const evidence = isCertain
      ? `the service announces more messages with ${unexplained}, but sends none`
      : `the service sent ${fresh} messages, newest first, without a link to older ones and without saying that these are all`;
    await this.emit({ kind: 'gap', ref: this.ref, evidence, isCertain });
  }

  /** @throws what polling again cannot resolve, or has not resolved for `maxOutageMs` */
  private async handleFailure(poll: Poll, error: unknown): Promise<void> {
    if (!(error instanceof PartnerctlError)) throw error;
    const { follower, ref, clock } = this;
    this.isDraining = true;
    const isNotFound = error instanceof NotFoundError && !error.info.fromGateway;
    if ((isNotFound || error instanceof MissingMessage) && !this.wasRead) {
      if (isNotFound && poll.cursor === undefined) return await this.treatAsEmpty(poll, error);
      if (clock.now() < follower.startedAt + REGISTRATION_LAG_MS) return await this.pause();
    }
    // A service may refuse a cursor that is not the newest message.
    if (isFatal(error, this.wasRead || poll.cursor !== this.shown.newest)) throw error;
    if (follower.health.fail(this.key, error, poll.startedAt)) await this.emit({ kind: 'outage', ref, error });
    const retryAt = Date.parse(error.info.retryAt ?? '');
    await this.pause(Number.isNaN(retryAt) ? 0 : retryAt - clock.now());
    follower.health.check(error);
  }

  /** The service may know a session only from its first message on. @throws NotFoundError if the 404 is about more */
  private async treatAsEmpty(poll: Poll, error: NotFoundError): Promise<void> {
    const { options, http } = this.follower;
    const missing = missingIn404(error);
    // A service that takes the source under another name may say that the source was not found.
    if (missing === 'source' || (options.once && missing === undefined)) throw noHistoryError(error, http.baseUrl);
    if (!this.reported.has('unknown-session')) await this.emit({ kind: 'unknown-session', ref: this.ref });
    this.reported.add('unknown-session');
    await this.complete(poll, 0);
  }

  private async complete({ cursor, startedAt }: Poll, fresh: number): Promise<void> {
    const { ref } = this;
    if (fresh > 0) this.pace.touch();
    // After an older cursor, an empty response may be a page that was cut short.
    else if (!this.isCaughtUp && cursor === this.shown.newest) {
      this.isCaughtUp = true;
      for (const message of this.held ?? []) await this.emit({ kind: 'message', ref, message, isBacklog: true });
      this.held = undefined;
      await this.emit({ kind: 'caught-up', ref });
    }
    this.isDraining = !this.isCaughtUp || fresh >= MIN_FULL_PAGE;
    if (this.isDraining) return;
    const ended = this.follower.health.succeed(this.key);
    if (ended) await this.emit({ kind: 'recovered', ref, ...ended });
    await this.emit({ kind: 'polled', ref, at: startedAt, isQuiet: fresh === 0 && !this.shown.isHolding });
  }

  private leftMs(): number {
    return Math.min(this.follower.health.leftMs(), this.follower.remainingMs());
  }

  private async pause(atLeastMs = 0): Promise<void> {
    await this.pace.wait(this.follower.health.failuresOf(this.key), atLeastMs, this.leftMs());
  }
}
