import { ATTEMPT_TIMEOUT_MS } from '../api/attempt.ts';
import { type HistoryPage, MissingMessage, missingIn404, readHistory } from '../api/history.ts';
import { CONNECT_TIMEOUT_MS } from '../api/undici.ts';
import type { Message, SessionRef } from '../contract/messages.ts';
import { NotFoundError, PartnerctlError, RateLimitError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import type { Emit, FollowEnd, Follower, SessionEvent } from './follow.ts';
import { isFatal, isPassing, noHistoryError } from './health.ts';
import { Pace } from './pace.ts';
import { type FollowStart, sessionKey } from './session.ts';
import { type Cursor, Shown } from './shown.ts';
import { Unfinished } from './unfinished.ts';

/** A page may be slow, but not silent for so long. */
const IDLE_MS = 15_000;
/** A page is asked for so often before the session is read on from its newest message: the link to it may have expired. */
const MAX_PAGE_FAILURES = 5;
/** How long the history may lack the message to start after, which may have been registered just now. */
const REGISTRATION_LAG_MS = 10_000;
/** With fewer messages, a response is hardly a page that was cut short. */
const MIN_FULL_PAGE = 10;

function lastOf<Item>(items: readonly Item[], count: number): readonly Item[] {
  return items.slice(Math.max(0, items.length - count));
}

/** One session that is followed. */
class FollowedSession {
  private readonly follower: Follower;
  private readonly clock: Clock;
  private readonly pace: Pace;
  private readonly ref: SessionRef;
  private readonly emit: Emit<SessionEvent>;
  private readonly key: string;
  private readonly shown: Shown;
  private readonly unfinished = new Unfinished();
  private readonly wanted: number;
  /** Messages of the backlog, until it is known which are the last; undefined to hold none. */
  private held: readonly Message[] | undefined;
  private isCaughtUp = false;
  private wasRead = false;
  /** The most pages that came in one reading, since everything was read. */
  private furthest = 0;
  /** The last request. `idleMs`: how long the service may be silent. */
  private asked: { readonly elapsed: () => number; readonly idleMs: number };
  private readonly reported = new Set<SessionEvent['kind']>();

  constructor(follower: Follower, ref: SessionRef, start: FollowStart, emit: Emit<SessionEvent>) {
    const { paces, options } = follower;
    const { clock, random } = follower.context;
    this.follower = follower;
    this.clock = clock;
    const { intervalMs, activeMs } = options;
    this.pace = new Pace({ clock, random, intervalMs, activeMs, sessions: () => paces.length });
    paces.push(this.pace);
    this.ref = ref;
    this.emit = emit;
    this.key = sessionKey(ref);
    this.shown = new Shown(start, clock.now());
    this.wanted = start.from === 'last' ? start.count : Number.POSITIVE_INFINITY;
    this.held = start.from === 'last' ? [] : undefined;
    this.asked = this.startRequest();
  }

  /** Every other poll starts at the newest message, because some services send no more than a page. */
  async run(): Promise<FollowEnd> {
    const { follower, clock, shown, unfinished } = this;
    let isLagging = false;
    let lagReadAt = clock.now();
    while (!follower.isOver()) {
      const startedAt = clock.now();
      const lagging = unfinished.passed(startedAt) ?? { after: shown.lagging(lagReadAt) };
      const cursor = isLagging ? lagging.after : shown.newest;
      try {
        const { fresh, isEnd } = await this.read(cursor);
        if (fresh > 0) this.pace.touch();
        const isBehind = this.isBehind(fresh, isEnd);
        if (!isBehind) {
          await this.complete(startedAt, fresh);
          if (follower.options.once) return 'complete';
          await this.pace.wait(this.pauseMs());
          if (isLagging) lagReadAt = startedAt;
        }
        isLagging = !isBehind && !isLagging;
      } catch (error) {
        // The end may have cut the poll short.
        if (follower.isOver()) break;
        await this.handleFailure(cursor, error);
        isLagging = false;
      }
    }
    return 'cut short';
  }

  /** Reads what follows the cursor. A session that the service does not know yet is empty. */
  private async read(cursor: Cursor): ReturnType<FollowedSession['readPages']> {
    try {
      return await this.readPages(cursor);
    } catch (error) {
      const isUnknown = error instanceof NotFoundError && !error.info.fromGateway;
      if (!isUnknown || cursor !== undefined || this.wasRead || this.follower.isOver()) throw error;
      await this.reportUnknown(error);
      return { fresh: 0, isEnd: true };
    }
  }

  /** Whether more may follow at once. */
  private isBehind(fresh: number, isEnd: boolean): boolean {
    return fresh > 0 && !isEnd && (!this.isCaughtUp || fresh >= MIN_FULL_PAGE);
  }

  /** @returns how many messages are new, and whether nothing else can be read now */
  private async readPages(cursor: Cursor): Promise<{ readonly fresh: number; readonly isEnd: boolean }> {
    const { http, limit, sessionCheck, options } = this.follower;
    const { ref, clock, wanted, shown, unfinished } = this;
    const position = { ...ref, after_message_id: cursor, ...(this.held && { newest: wanted }) };
    const limits = () => {
      this.asked = this.startRequest();
      const { idleMs } = this.asked;
      return { retries: 0, timeoutMs: Math.max(1, this.follower.remainingMs()), idleMs, signal: this.follower.signal };
    };
    const pages = readHistory(http, position, limits, (error) => this.recover(error));
    let fresh = 0;
    let before = cursor;
    for (let count = 1; ; count += 1) {
      const { value: page } = await limit(() => pages.next());
      if (!page) return { fresh, isEnd: false };
      await sessionCheck.check(ref, page.messages, limits);
      this.wasRead = true;
      const unseen = shown.without(page.messages);
      const released = options.once ? unseen : unfinished.release(unseen, before, clock.now());
      shown.add(released, clock.now());
      // A page that came before does not mean that the one behind it will.
      if (released.length > 0 || count > this.furthest) this.follower.health.arrive(this.key, released.length);
      this.furthest = Math.max(count, this.furthest);
      await this.reportGap(page, unseen.length, !this.isCaughtUp && cursor === undefined);
      await this.show(released);
      fresh += released.length;
      before = page.messages.at(-1)?.message_id ?? before;
      if (unfinished.isHolding || !page.hasMore) return { fresh, isEnd: unfinished.isHolding || page.isStatedEnd };
    }
  }

  private async show(messages: readonly Message[]): Promise<void> {
    const { ref, isCaughtUp } = this;
    if (this.held) this.held = lastOf([...this.held, ...messages], this.wanted);
    else for (const message of messages) await this.emit({ kind: 'message', ref, message, isBacklog: !isCaughtUp });
  }

  private startRequest() {
    const { clock } = this;
    const [now, monotonic] = [clock.now(), clock.monotonic()];
    return {
      // Either clock may stand still, or run on, while the machine sleeps.
      elapsed: () => Math.min(clock.now() - now, clock.monotonic() - monotonic),
      idleMs: Math.max(1, Math.min(IDLE_MS, this.leftMs())),
    };
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

  /** Waits to ask for a further page again, which keeps those before it. @throws what asking again does not resolve */
  private async recover(error: unknown): Promise<void> {
    const { follower, key } = this;
    const isLimited = error instanceof RateLimitError;
    const mayPass = error instanceof PartnerctlError && isPassing(error) && !follower.isOver();
    if (!mayPass || (!isLimited && follower.health.failuresOf(key) >= MAX_PAGE_FAILURES)) throw error;
    await this.waitOut(error);
    if (follower.isOver()) throw error;
  }

  /** @throws what polling again cannot resolve, or has not resolved for `maxOutageMs` */
  private async handleFailure(cursor: Cursor, error: unknown): Promise<void> {
    if (!(error instanceof PartnerctlError)) throw error;
    const { follower, clock, pace } = this;
    const isMissing = error instanceof MissingMessage || (error instanceof NotFoundError && !error.info.fromGateway);
    // It lasted too long while a further page was asked for.
    if (follower.health.leftMs() < 1) throw error;
    const isYoung = clock.now() < follower.startedAt + REGISTRATION_LAG_MS;
    if (isMissing && isYoung && cursor !== undefined && !this.wasRead) return await pace.wait(this.pauseMs());
    // What was read to its end once can be read again. A service may also refuse a cursor that is not the newest message.
    if (isFatal(error, this.isCaughtUp || cursor !== this.shown.newest)) throw error;
    await this.waitOut(error);
  }

  /** @throws RateLimitError or ServiceError once the outage has lasted for `maxOutageMs`, or the service asks for more */
  private async waitOut(error: PartnerctlError): Promise<void> {
    const { follower, ref, clock, pace, key, asked } = this;
    const { health } = follower;
    const elapsedMs = asked.elapsed();
    // A longer request was interrupted by the machine's sleep. Of a page that came slowly, only its last silence counts.
    const isSlept = elapsedMs > ATTEMPT_TIMEOUT_MS + CONNECT_TIMEOUT_MS;
    const failingMs = isSlept ? 0 : Math.max(0, Math.min(elapsedMs, CONNECT_TIMEOUT_MS + asked.idleMs));
    const askedMs = Math.max(0, Date.parse(error.info.retryAt ?? '') - clock.now() || 0);
    const leftMs = health.leftMs() - failingMs;
    const retryMs = Math.max(pace.retryMs(health.failuresOf(key)), askedMs);
    const pauseMs = Math.max(0, Math.min(retryMs, leftMs, follower.remainingMs()));
    const isNew = health.fail(key, error, failingMs + Math.max(pauseMs, askedMs));
    if (askedMs > leftMs) throw health.outageError(error, askedMs);
    if (isNew) await this.emit({ kind: 'outage', ref, error, pauseMs });
    await pace.wait(pauseMs);
    if (health.leftMs() < 1) throw health.outageError(error);
  }

  /** @throws NotFoundError if the 404 is about more than the session */
  private async reportUnknown(error: NotFoundError): Promise<void> {
    const { options, http } = this.follower;
    const missing = missingIn404(error);
    // A service that takes the source under another name may say that the source was not found.
    if (missing === 'source' || (options.once && missing === undefined)) throw noHistoryError(error, http.baseUrl);
    if (!this.reported.has('unknown-session')) await this.emit({ kind: 'unknown-session', ref: this.ref });
    this.reported.add('unknown-session');
  }

  /** Everything that is there was read. */
  private async complete(at: number, fresh: number): Promise<void> {
    const { ref, unfinished } = this;
    if (!this.isCaughtUp) {
      for (const message of this.held ?? []) await this.emit({ kind: 'message', ref, message, isBacklog: true });
      this.held = undefined;
      this.isCaughtUp = true;
      const isEmpty = this.shown.newest === undefined && !this.reported.has('unknown-session');
      await this.emit({ kind: 'caught-up', ref, isEmpty });
    }
    this.furthest = 0;
    const ended = this.follower.health.succeed(this.key);
    if (ended) await this.emit({ kind: 'recovered', ref, ...ended });
    await this.emit({ kind: 'polled', ref, at, isQuiet: fresh === 0 && !unfinished.isHolding });
  }

  private leftMs(): number {
    return Math.min(this.follower.health.leftMs(), this.follower.remainingMs());
  }

  private pauseMs(): number {
    return Math.min(this.pace.pauseMs(), this.leftMs());
  }
}

/**
 * Follows one more session: emits each message once, oldest first, page by page, until the signal aborts or the time is
 * up or, with `once`, until everything was read. Failures of the network and the service are outages, not the end.
 * @throws PartnerctlError that polling again cannot resolve: 401, 402, 403 and, before a first page was read, most
 *   others; ServiceError or RateLimitError after an outage of `maxOutageMs`
 */
export function followSession(
  follower: Follower,
  ref: SessionRef,
  start: FollowStart,
  emit: Emit<SessionEvent>,
): Promise<FollowEnd> {
  return new FollowedSession(follower, ref, start, emit).run();
}
