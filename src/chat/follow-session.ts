import pLimit, { type LimitFunction } from 'p-limit';
import { type HistoryPage, HistoryReader } from '../api/history.ts';
import type { Http } from '../api/http.ts';
import type { Clock } from '../clock.ts';
import type { Message } from '../contract/messages.ts';
import { NotFoundError, PartnerctlError, RefusedError } from '../errors.ts';
import { Health } from './health.ts';
import type { Pace } from './pace.ts';
import { judgeFailure, outageError } from './poll-failure.ts';
import { type SessionRef, type SessionStart, sessionKey } from './session.ts';
import { Shown } from './shown.ts';

export type SessionEvent = { readonly ref: SessionRef } & (
  | {
      readonly kind: 'message';
      readonly message: Message;
      /** Whether it existed at the start. */
      readonly isBacklog: boolean;
    }
  /** Everything that existed at the start has been shown. `latest`: the last ids, oldest first. */
  | { readonly kind: 'caught-up'; readonly latest: readonly string[] }
  /** A complete response to a poll that began `at` a time (milliseconds since the epoch). */
  | { readonly kind: 'polled'; readonly at: number; readonly isQuiet: boolean }
  /** The service answered 404 for the session, as it may before the first message. It is treated as empty. */
  | { readonly kind: 'unknown-session'; readonly error: PartnerctlError }
  /** Messages may be missing. `isCertain`: the service says that it has more than it sent. */
  | ({ readonly kind: 'gap' } & Gap)
  /** The service cannot be reached; polling goes on. */
  | { readonly kind: 'outage'; readonly error: PartnerctlError }
  | { readonly kind: 'recovered'; readonly outageMs: number; readonly missed: number }
);

interface Gap {
  readonly evidence: string;
  readonly isCertain: boolean;
}

export interface FollowDeps {
  readonly http: Http;
  readonly clock: Clock;
  readonly random: () => number;
  /** Ends following when aborted. */
  readonly signal: AbortSignal;
  /** How long following may still take, in milliseconds. */
  readonly remainingMs: () => number;
}

/** What the followed sessions of a command share. */
export interface Shared {
  readonly reader: HistoryReader;
  /** Limits the polls at a time. */
  readonly limit: LimitFunction;
  readonly health: Health;
}

export interface FollowOptions {
  /** Whether to end once everything that exists has been read. */
  readonly once?: boolean | undefined;
  /** How long an outage may last, in milliseconds; no limit by default. */
  readonly maxOutageMs?: number | undefined;
  /** Fail once this many further polls in a row have failed, however short the outage is. */
  readonly maxRetries?: number | undefined;
  /** Until this time (milliseconds since the epoch) the history may lack the message to start after. */
  readonly lagsUntil?: number | undefined;
}

interface Poll {
  readonly startedAt: number;
  readonly cursor: string | undefined;
  /** Whether an empty response proves that there is nothing new. */
  readonly isConclusive: boolean;
}

interface Response {
  /** How many messages are new. */
  readonly fresh: number;
  /** The pause that the service asks for, in milliseconds. */
  readonly waitMs: number;
  readonly gap: Gap | undefined;
}

const EMPTY: Response = { fresh: 0, waitMs: 0, gap: undefined };
const MAX_CONCURRENT_POLLS = 6;
const POLL_TIMEOUT_MS = 15_000;
/** With fewer messages, a response is hardly a page that was cut short. */
const MIN_FULL_PAGE = 10;

/** Creates what the sessions of a command share. */
export function createShared(http: Http): Shared {
  return { reader: new HistoryReader(http), limit: pLimit(MAX_CONCURRENT_POLLS), health: new Health() };
}

/** What makes a page doubtful; undefined for most pages. @param isEnough whether as many messages came as are wanted */
function findGap({ messages, unexplained, mayHideOlder }: HistoryPage, fresh: number, isEnough: boolean) {
  if (unexplained !== undefined) {
    const evidence = `the service announces more messages with ${unexplained}, but sends none`;
    return { evidence, isCertain: true };
  }
  if (!mayHideOlder || isEnough || fresh < messages.length) return undefined;
  const evidence = `the service sent ${fresh} messages, newest first, without a link to older ones and without saying that these are all`;
  return { evidence, isCertain: false };
}

function lastOf<Item>(items: readonly Item[], count: number): readonly Item[] {
  return items.slice(Math.max(0, items.length - count));
}

class FollowedSession {
  private readonly deps: FollowDeps & Shared & { readonly pace: Pace };
  private readonly options: FollowOptions;
  private readonly ref: SessionRef;
  private readonly key: string;
  private readonly shown: Shown;
  /** How many messages of the backlog are wanted. */
  private readonly backlogLimit: number;
  /** Messages of the backlog, until it is known which are the last; undefined to hold none. */
  private held: readonly Message[] | undefined;
  private isCaughtUp = false;
  /** Whether more may follow the last response, so that the next poll starts at the newest message. */
  private isDraining = false;
  private wasRead = false;
  private failures = 0;
  private gap: Gap | undefined;
  /** What is reported only once. */
  private readonly reported = new Set<'gap' | 'unknown-session'>();

  constructor(deps: FollowedSession['deps'], { start, source_id, session_id }: SessionStart, options: FollowOptions) {
    this.deps = deps;
    this.options = options;
    this.ref = { source_id, session_id };
    this.key = sessionKey(this.ref);
    this.shown = new Shown(start, deps.clock.now());
    this.backlogLimit = start.from === 'last' ? start.count : Number.POSITIVE_INFINITY;
    this.held = start.from === 'last' ? [] : undefined;
  }

  async *events(): AsyncGenerator<SessionEvent, void, void> {
    const { clock, signal, remainingMs } = this.deps;
    while (!signal.aborted && remainingMs() > 0) {
      const startedAt = clock.now();
      const cursor = this.shown.nextCursor(startedAt, this.isDraining);
      const poll = { startedAt, cursor, isConclusive: cursor === this.shown.newest };
      const response = yield* this.read(poll);
      if (!response) continue;
      yield* this.complete(poll, response);
      if (this.options.once && this.isCaughtUp) return;
      if (!this.isDraining || response.waitMs > 0) await this.pause(response.waitMs);
    }
  }

  /** Polls once. @returns undefined after a failure, and a pause */
  private async *read(poll: Poll): AsyncGenerator<SessionEvent, Response | undefined, void> {
    try {
      const response = yield* this.readPages(poll);
      this.failures = 0;
      return response;
    } catch (error) {
      if (this.deps.signal.aborted) return undefined;
      if (!(error instanceof PartnerctlError)) throw error;
      this.isDraining = true;
      const isRefused = error instanceof NotFoundError || error instanceof RefusedError;
      if (isRefused && !error.info.fromGateway && this.shown.refuse(poll.cursor)) return undefined;
      return yield* this.handleFailure(error, poll);
    }
  }

  private async *readPages({ cursor }: Poll): AsyncGenerator<SessionEvent, Response, void> {
    const { reader, limit, health, clock } = this.deps;
    const { ref, held, backlogLimit } = this;
    const isBacklog = !this.isCaughtUp;
    const position = { ...ref, after_message_id: cursor, ...(held && { newest: backlogLimit }) };
    const pages = reader.readAfter(position, { now: () => clock.now(), limits: () => this.limits() });
    let [fresh, waitMs, gap]: [number, number, Response['gap']] = [0, 0, undefined];
    for (let next = await limit(() => pages.next()); !next.done; next = await limit(() => pages.next())) {
      const page = next.value;
      const count = page.messages.length;
      this.wasRead = true;
      const holdsUnfinished = !this.options.once && !page.hasMore;
      const added = this.shown.add(page.messages, clock.now(), { isBacklog, holdsUnfinished });
      if (added.length > 0) health.arrive(this.key, added.length, clock.now());
      if (this.held) this.held = lastOf([...this.held, ...added], backlogLimit);
      else for (const message of added) yield { kind: 'message', ref, message, isBacklog };
      gap ??= findGap(
        page,
        added.length,
        isBacklog && cursor === undefined ? count >= backlogLimit : count < MIN_FULL_PAGE,
      );
      fresh += added.length;
      waitMs = page.requestedWaitMs ?? 0;
    }
    return { fresh, waitMs, gap };
  }

  /** @throws PartnerctlError that no further poll can mend, or after an outage of `maxOutageMs` */
  private async *handleFailure(
    error: PartnerctlError,
    { cursor, startedAt }: Poll,
  ): AsyncGenerator<SessionEvent, Response | undefined, void> {
    const { clock, health, http, remainingMs } = this.deps;
    const { ref, wasRead } = this;
    const { once = false, lagsUntil = 0, maxRetries, maxOutageMs = Number.POSITIVE_INFINITY } = this.options;
    const mayLag = clock.now() < lagsUntil;
    const meaning = judgeFailure(error, { wasRead, hasCursor: cursor !== undefined, mayLag, once, baseUrl: http.baseUrl });
    if (meaning === 'unknown') {
      if (!this.reported.has('unknown-session')) yield { kind: 'unknown-session', ref, error };
      this.reported.add('unknown-session');
      return EMPTY;
    }
    // The time limit may have cut the poll short.
    if (remainingMs() <= 0) return undefined;
    if (meaning === 'late') {
      await this.pause();
      return undefined;
    }
    this.failures += 1;
    if (this.failures > (maxRetries ?? Number.POSITIVE_INFINITY)) throw error;
    if (health.fail(this.key, error, startedAt, clock.now())) yield { kind: 'outage', ref, error };
    const retryAt = Date.parse(error.info.retryAt ?? '');
    await this.pause(Number.isNaN(retryAt) ? 0 : retryAt - clock.now());
    if (this.outageLeftMs() <= 0) throw outageError(error, maxOutageMs);
    return undefined;
  }

  /** Handles what a complete response means for the session. */
  private *complete({ isConclusive, startedAt }: Poll, { fresh, gap }: Response): Generator<SessionEvent, void, void> {
    const { pace, health, clock } = this.deps;
    const { ref } = this;
    if (fresh > 0) pace.touch();
    if (!this.isCaughtUp && fresh === 0 && isConclusive) {
      this.isCaughtUp = true;
      for (const message of this.held ?? []) yield { kind: 'message', ref, message, isBacklog: true };
      this.held = undefined;
      yield { kind: 'caught-up', ref, latest: this.shown.latest };
    }
    this.gap ??= gap;
    if (this.gap && !this.held && !this.reported.has('gap')) {
      this.reported.add('gap');
      yield { kind: 'gap', ref, ...this.gap };
    }
    this.isDraining = !this.isCaughtUp || fresh >= MIN_FULL_PAGE;
    if (this.isDraining) return;
    const ended = health.succeed(this.key, clock.now());
    if (ended) yield { kind: 'recovered', ref, ...ended };
    yield { kind: 'polled', ref, at: startedAt, isQuiet: fresh === 0 };
  }

  private outageLeftMs(): number {
    const { clock, health } = this.deps;
    const { maxOutageMs = Number.POSITIVE_INFINITY } = this.options;
    return (health.since ?? clock.now()) + maxOutageMs - clock.now();
  }

  private limits() {
    const timeoutMs = Math.max(1, Math.min(POLL_TIMEOUT_MS, this.outageLeftMs(), this.deps.remainingMs()));
    return { retries: 0, timeoutMs, signal: this.deps.signal };
  }

  private async pause(atLeastMs = 0): Promise<void> {
    const { pace, remainingMs, signal } = this.deps;
    const atMostMs = Math.min(this.outageLeftMs(), remainingMs());
    await pace.wait({ failures: this.failures, atLeastMs, atMostMs }, signal);
  }
}

/**
 * Follows a session: yields each message once, oldest first, until the signal aborts or the time is up or, with `once`, until
 * everything that exists was read. Failures of the network and the service are outages, not the end.
 * @throws PartnerctlError that no further poll can mend: 401, 402, 403 and, before a first page was read, most of what the
 *   service answers; ServiceError or RateLimitError after an outage of `maxOutageMs`
 */
export function followSession(
  deps: FollowDeps & Shared & { readonly pace: Pace },
  session: SessionStart,
  options: FollowOptions,
): AsyncGenerator<SessionEvent, void, void> {
  return new FollowedSession(deps, session, options).events();
}
