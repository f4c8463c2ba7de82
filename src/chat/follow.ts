import type { HistoryPage } from '../api/history.ts';
import { EMPTY_PAGE, HistoryReader, isBare404 } from '../api/history.ts';
import {
  BalanceError,
  CredentialsError,
  NotFoundError,
  PartnerctlError,
  RateLimitError,
  ShapeError,
} from '../errors.ts';
import { type SessionRef, sessionKey } from '../state-old/session-ref.ts';
import { EndCondition } from './end-condition.ts';
import type { EndReason, FollowDeps, FollowEvent, Follower, FollowOptions } from './follow-types.ts';
import { FollowedSession } from './followed-session.ts';
import type { HistoryGap } from './gap-detector.ts';
import { OutageTracker } from './outage-tracker.ts';
import {
  classifyFailure,
  createIncompleteError,
  createNoHistoryError,
  createOutageError,
  retryTime,
  withSession,
} from './poll-failure.ts';
import { PollScheduler } from './poll-scheduler.ts';
import { isClockJump, sleepUntil } from './sleep-until.ts';

/** Time limit of a poll. It doubles with every poll that reaches it, up to the maximum. */
const POLL_TIMEOUT_MS = 15_000;
const MAX_POLL_TIMEOUT_MS = 60_000;
const MAX_CONCURRENT_POLLS = 6;
const DEFAULT_READ_OUTAGE_MS = 30_000;
/** How long the history may lack a message that was just registered. */
const REGISTRATION_LAG_MS = 10_000;

interface PollResult {
  readonly session: FollowedSession;
  readonly startedAt: number;
  readonly outcome: { readonly page: HistoryPage } | { readonly error: unknown };
}

class FollowLoop implements Follower {
  readonly events: AsyncGenerator<FollowEvent, void, void>;
  private readonly deps: FollowDeps;
  private readonly options: FollowOptions;
  private readonly sessions: Map<string, FollowedSession>;
  private readonly scheduler: PollScheduler;
  private readonly reader: HistoryReader;
  private readonly outages: OutageTracker;
  private readonly endCondition: EndCondition;
  private readonly closing = new AbortController();
  /** Until this time the history may lack the message to start after. */
  private readonly lagsUntil: number;
  private readonly results: PollResult[] = [];
  private wake: () => void = () => undefined;
  private runningPolls = 0;
  private lastError: PartnerctlError | undefined;
  /** Set when the service says that it has more messages than it sent. */
  private incomplete: ShapeError | undefined;

  constructor(deps: FollowDeps, options: FollowOptions) {
    const { intervalMs, maxOutageMs, follow, expectsReply, isJustRegistered } = options;
    const now = deps.clock.now();
    this.deps = deps;
    this.options = options;
    this.reader = new HistoryReader(deps.http);
    const sessions = options.sessions.map((session) => new FollowedSession(session, now, follow));
    this.sessions = new Map(sessions.map((session) => [session.key, session]));
    const keys = [...this.sessions.keys()];
    this.scheduler = new PollScheduler(keys, now, deps.random, { fixedMs: intervalMs });
    if (expectsReply) for (const key of keys) this.scheduler.expectReply(key, now);
    this.endCondition = new EndCondition(options, now);
    this.lagsUntil = isJustRegistered ? now + REGISTRATION_LAG_MS : now;
    this.outages = new OutageTracker(maxOutageMs ?? (follow ? Number.POSITIVE_INFINITY : DEFAULT_READ_OUTAGE_MS));
    this.events = this.run();
  }

  expectReply(session: SessionRef): void {
    this.scheduler.expectReply(sessionKey(session), this.deps.clock.now());
    this.wake();
  }

  pollBy(time: number, session?: SessionRef): void {
    const keys = session ? [sessionKey(session)] : this.sessions.keys();
    for (const key of keys) this.scheduler.pollBy(key, time);
    this.wake();
  }

  private async *run(): AsyncGenerator<FollowEvent, void, void> {
    const { interrupt } = this.deps;
    const close = (): void => {
      this.closing.abort(interrupt.reason);
      this.wake();
    };
    interrupt.addEventListener('abort', close, { once: true });
    if (interrupt.aborted) close();
    try {
      for (;;) {
        const reason = this.findEndReason();
        if (reason) {
          if (reason === 'caught-up' && this.incomplete) throw this.incomplete;
          yield this.createEndEvent(reason);
          return;
        }
        const result = this.results.shift();
        if (result) {
          const { session, startedAt, outcome } = result;
          if ('page' in outcome) yield* this.handlePage(session, startedAt, outcome.page);
          else yield* this.handleFailure(session, startedAt, outcome.error);
        } else {
          if (this.deps.clock.now() >= this.outages.endsAt) throw createOutageError(this.lastError, this.outages.maxMs);
          await this.pollAndWait();
        }
      }
    } finally {
      interrupt.removeEventListener('abort', close);
      this.closing.abort(new Error('the events are no longer read'));
    }
  }

  private findEndReason(): EndReason | undefined {
    const { clock, http } = this.deps;
    return this.endCondition.findReason({
      isInterrupted: this.closing.signal.aborted,
      isCaughtUp: [...this.sessions.values()].every(({ isCaughtUp }) => isCaughtUp),
      remainingMs: http.remainingMs(),
      now: clock.now(),
    });
  }

  private createEndEvent(reason: EndReason): FollowEvent {
    const error = this.outages.failingSince() === undefined ? undefined : this.lastError;
    return {
      kind: 'end',
      reason,
      error,
      wasRead: [...this.sessions.values()].some((session) => session.wasRead || session.isReportedUnknown),
    };
  }

  /** How long a poll that starts now may take, in milliseconds: an outage may begin with it. */
  private remainingMs(): number {
    const now = this.deps.clock.now();
    return Math.min(this.endCondition.endsAt - now, this.outages.endsAt - now, this.outages.maxMs);
  }

  /** Starts the polls that are due, and waits until one has finished or another is due. */
  private async pollAndWait(): Promise<void> {
    const now = this.deps.clock.now();
    let next = this.scheduler.next(now);
    while ('session' in next && this.runningPolls < MAX_CONCURRENT_POLLS) {
      void this.poll(next.session, now);
      next = this.scheduler.next(now);
    }
    const waiting = new AbortController();
    // While every session is being polled, nothing becomes due: only the result of a poll ends the wait.
    const due = 'at' in next ? next.at : Number.POSITIVE_INFINITY;
    const sleeping = due < Number.POSITIVE_INFINITY ? this.sleepUntilDue(due, waiting.signal) : undefined;
    if (this.results.length === 0) {
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
    // Without a reason, each would cost an exception with its stack.
    waiting.abort('something is due');
    await sleeping;
  }

  private async poll(key: string, startedAt: number): Promise<void> {
    const session = this.sessions.get(key);
    if (!session) return;
    const { clock } = this.deps;
    this.scheduler.pollStarted(key, startedAt);
    this.runningPolls += 1;
    const pollTimeoutMs = Math.min(MAX_POLL_TIMEOUT_MS, POLL_TIMEOUT_MS * 2 ** session.stalls);
    const limits = () => ({
      retries: 0,
      timeoutMs: Math.max(1, Math.min(pollTimeoutMs, this.remainingMs())),
      freshConnection: session.needsFreshConnection,
      signal: this.closing.signal,
    });
    let outcome: PollResult['outcome'];
    try {
      outcome = { page: await session.poll(this.reader, { now: () => clock.now(), limits }) };
    } catch (error) {
      outcome = { error };
    }
    this.runningPolls -= 1;
    this.results.push({ session, startedAt, outcome });
    this.wake();
  }

  private async sleepUntilDue(due: number, signal: AbortSignal): Promise<void> {
    const { clock, http } = this.deps;
    const until = Math.min(due, this.endCondition.endsAt, this.outages.endsAt, clock.now() + http.remainingMs());
    if (await sleepUntil(clock, until, signal)) this.resetClock(clock.now());
    this.wake();
  }

  private resetClock(now: number): void {
    this.scheduler.resetClock(now);
    this.outages.resetClock(now);
    for (const session of this.sessions.values()) session.needsFreshConnection = true;
  }

  private *handlePage(session: FollowedSession, startedAt: number, page: HistoryPage): Generator<FollowEvent> {
    const now = this.deps.clock.now();
    const { messages, hasNew, more, isUrgent, hasCaughtUp, gap } = session.accept(page, now);
    const newest = messages.at(-1);
    this.scheduler.pollSucceeded(
      session.key,
      {
        hasNewMessages: newest?.isBacklog === false,
        expectsReply: newest?.message.role === 'user',
        more: isUrgent,
        waitMs: page.requestedWaitMs,
      },
      now,
    );
    // No poll takes this long: the machine slept, and the response is stale.
    if (isClockJump(now - startedAt, MAX_POLL_TIMEOUT_MS)) this.resetClock(now);
    this.endCondition.addPoll(messages.length > 0 || more, startedAt, now);
    for (const { message, isBacklog } of messages) {
      yield { kind: 'message', ...session.ref, message, isBacklog };
      if (message.isReply && (!isBacklog || session.countsBacklog)) this.endCondition.addReply();
      if (this.endCondition.hasReplies) return;
    }
    if (hasCaughtUp) yield { kind: 'caught-up', ...session.ref, latest: session.latest };
    if (gap) yield* this.handleGap(session.ref, gap);
    if (this.options.reportsPolls && !more) yield { kind: 'polled', ...session.ref, at: startedAt };
    const ended = this.outages.addSuccess(session.key, { count: messages.length, hasNew, isComplete: !more }, now);
    if (ended) yield { kind: 'outage-ended', ...ended };
  }

  /** With --no-follow, a normal end would claim that the messages are complete. */
  private *handleGap(ref: SessionRef, gap: HistoryGap): Generator<FollowEvent> {
    const { evidence, isCertain } = gap;
    if (this.options.follow || !isCertain) yield { kind: 'gap', ...ref, evidence };
    else this.incomplete ??= createIncompleteError(ref.session_id, gap);
  }

  private *handleFailure(session: FollowedSession, startedAt: number, error: unknown): Generator<FollowEvent> {
    if (!(error instanceof PartnerctlError)) throw error;
    const now = this.deps.clock.now();
    if (error instanceof ShapeError) session.unreadable += 1;
    const kind = classifyFailure(error, session);
    if (kind === 'unknown-session') {
      if (!this.options.follow && isBare404(error)) throw createNoHistoryError(error);
      if (!session.isReportedUnknown) yield { kind, ...session.ref, error };
      session.isReportedUnknown = true;
      yield* this.handlePage(session, startedAt, EMPTY_PAGE);
      return;
    }
    if (kind === 'refused' && session.refuse()) {
      this.scheduler.retryNow(session.key, now);
      return;
    }
    const mayLag = error instanceof NotFoundError && now < this.lagsUntil;
    if (kind === 'permanent' || (kind === 'refused' && !session.wasRead && !mayLag)) {
      yield this.skip(session, isBare404(error) ? createNoHistoryError(error) : error);
      return;
    }
    session.fail(now - startedAt >= POLL_TIMEOUT_MS);
    if (session.failures > (this.options.maxRetries ?? Number.POSITIVE_INFINITY)) throw error;
    this.lastError = error;
    const isRateLimited = error instanceof RateLimitError;
    this.scheduler.pollFailed(session.key, { isRateLimited, retryAt: retryTime(error) }, now);
    if (this.outages.addFailure(session.key, startedAt, now)) yield { kind: 'outage-started', error };
  }

  /** Stops following a session. @throws the error if the options ask for that, or if no session is left */
  private skip(session: FollowedSession, error: PartnerctlError): FollowEvent {
    const { ref, key } = session;
    const isFatal = error instanceof CredentialsError || error instanceof BalanceError;
    if (isFatal || !this.options.skipsUnreadable || this.sessions.size === 1)
      throw withSession(error, ref, this.options.sessions);
    this.sessions.delete(key);
    this.scheduler.remove(key);
    this.outages.remove(key);
    return { kind: 'skipped', ...ref, error };
  }
}

/**
 * Follows one or more sessions and yields every message once, in order, for as long as the caller reads the
 * events. It survives resets, timeouts, 5xx, 429, and a machine that sleeps. It ends when interrupted, when the options
 * say so, or with a permanent error.
 * @throws CredentialsError (401, 403) and BalanceError (402) at once; for a session that was never read also
 * NotFoundError (of the source or a cursor), RefusedError, ShapeError, and a permanent ServiceError; ServiceError or
 * RateLimitError after an outage of `maxOutageMs`
 */
export function follow(deps: FollowDeps, options: FollowOptions): Follower {
  const follower = new FollowLoop(deps, options);
  deps.trigger?.connect(follower, options.sessions);
  return follower;
}
