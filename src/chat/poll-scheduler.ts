/** Delay between polls of an active conversation: a reply is shown well within 1.5 s. */
export const ACTIVE_MS = 600;
/** The delay grows with the sessions that are polled on their own, so that all of them make about 100 polls a second. */
const DELAY_PER_SESSION_MS = 9;
/** Longest delay: with the polls of the first minutes, an idle hour stays below 150 requests. */
export const IDLE_MS = 45_000;
/** Delays are extended by up to this fraction, so that many clients spread out. */
export const JITTER = 0.2;
/** The delay is this fraction of the time since something last happened. */
const IDLE_FRACTION = 1 / 6;
/** A session with a message within this time is polled on its own; the others take turns. */
const ACTIVE_FOR_MS = 60_000;
/** How long to poll fast for an expected reply. */
const REPLY_EXPECTED_MS = 180_000;
const RETRY_MS = 400;
const MAX_RETRY_MS = 30_000;
/** After this many failures in a row, in any session, only one poll at a time probes the service. */
const MAX_FAILURES = 3;

/** The result of a successful poll. */
export interface PollOutcome {
  /** Whether it returned messages that are newer than the start. */
  readonly hasNewMessages: boolean;
  /** Whether the newest of them is one that a reply can be expected to. */
  readonly expectsReply: boolean;
  /** Whether to read the next page right away. */
  readonly more: boolean;
  /** Delay that the service asks for, in milliseconds. */
  readonly waitMs: number | undefined;
}

/** The session to poll now, or the time (milliseconds since the epoch) of the next poll. */
export type NextPoll = { readonly session: string } | { readonly at: number };

interface SessionSchedule {
  readonly id: string;
  /** Undefined before the first poll. */
  polledAt: number | undefined;
  isPolling: boolean;
  /** When something last happened in the session. */
  activeAt: number;
  replyExpectedUntil: number;
  failures: number;
  /** When its own next poll is due; undefined while it takes turns with other idle sessions. */
  dueAt: number | undefined;
  /** The service asked for no poll before this time. */
  notBefore: number;
  /** When a poll was asked for (`pollBy`). */
  requestedAt: number | undefined;
}

function delayAfter(silenceMs: number): number {
  return Math.min(IDLE_MS, Math.max(ACTIVE_MS, silenceMs * IDLE_FRACTION));
}

function retryDelay(failures: number): number {
  return Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** Math.min(failures - 1, 20));
}

/**
 * Decides when to poll which session: fast while a conversation is active, and ever more slowly while nothing happens.
 * Idle sessions take turns at one shared poll. What the service asks for (Retry-After, 429) takes precedence. It reads no
 * clock: every method is given the time, in milliseconds since the epoch.
 */
export class PollScheduler {
  private readonly sessions: Map<string, SessionSchedule>;
  private readonly fixedMs: number | undefined;
  private readonly random: () => number;
  private startedAt: number;
  private sharedDueAt: number;
  /** Failures in a row, over all sessions. */
  private failures = 0;
  /** When the next poll may probe whether the service works again. */
  private probeAt = 0;
  /** The service accepts no poll at all before this time. */
  private pausedUntil = 0;

  /** @param fixedMs delay between two polls of a session; adaptive by default */
  constructor(
    sessions: readonly string[],
    now: number,
    random: () => number,
    { fixedMs }: { readonly fixedMs?: number | undefined } = {},
  ) {
    this.fixedMs = fixedMs;
    this.random = random;
    this.startedAt = now;
    this.sharedDueAt = now;
    const schedule = { polledAt: undefined, isPolling: false, activeAt: now, replyExpectedUntil: 0, failures: 0 };
    const times = { dueAt: now, notBefore: 0, requestedAt: undefined };
    this.sessions = new Map(sessions.map((id) => [id, { id, ...schedule, ...times }]));
  }

  /** The session to poll. Call `pollStarted` before asking again. */
  next(now: number): NextPoll {
    const ready = [...this.sessions.values()].filter(({ isPolling }) => !isPolling);
    if (this.isProbing() && ready.length < this.sessions.size) return { at: Number.POSITIVE_INFINITY };
    let first: { readonly session: string; readonly at: number } | undefined;
    const turn = this.nextIdle();
    for (const session of ready) {
      const due = session.dueAt ?? (session === turn ? this.sharedDueAt : Number.POSITIVE_INFINITY);
      const wanted = Math.min(due, session.requestedAt ?? Number.POSITIVE_INFINITY);
      const at = Math.max(wanted, session.notBefore, this.probeAt, this.pausedUntil);
      if (!first || at < first.at) first = { session: session.id, at };
    }
    if (!first) return { at: Number.POSITIVE_INFINITY };
    return first.at <= now ? { session: first.session } : { at: first.at };
  }

  pollStarted(id: string, now: number): void {
    const session = this.find(id);
    session.isPolling = true;
    session.polledAt = now;
    if (session.requestedAt !== undefined && session.requestedAt <= now) session.requestedAt = undefined;
  }

  pollSucceeded(id: string, { hasNewMessages, expectsReply, more, waitMs }: PollOutcome, now: number): void {
    const session = this.find(id);
    session.isPolling = false;
    session.failures = 0;
    session.notBefore = waitMs === undefined ? 0 : now + waitMs;
    if (this.isProbing()) this.pollAllAt(now);
    this.failures = 0;
    this.probeAt = 0;
    if (hasNewMessages) {
      session.activeAt = now;
      session.replyExpectedUntil = expectsReply ? now + REPLY_EXPECTED_MS : 0;
    }
    session.dueAt = more ? now : this.ownDueAt(session, now);
    if (session.dueAt === undefined) this.sharedDueAt = this.nextSharedDueAt(now);
  }

  /**
   * @param isRateLimited whether the rate limit was hit, which holds back every session
   * @param retryAt when the service accepts the next request, if it says so
   */
  pollFailed(
    id: string,
    { isRateLimited, retryAt }: { readonly isRateLimited: boolean; readonly retryAt: number | undefined },
    now: number,
  ): void {
    const session = this.find(id);
    session.isPolling = false;
    session.failures += 1;
    this.failures += 1;
    session.dueAt = now + this.withJitter(retryDelay(session.failures));
    if (this.isProbing()) this.probeAt = now + this.withJitter(retryDelay(this.failures - MAX_FAILURES + 1));
    const pause = isRateLimited ? now + this.withJitter(retryDelay(this.failures + 1)) : 0;
    this.pausedUntil = Math.max(this.pausedUntil, retryAt ?? pause);
  }

  /** Makes a failed poll due again right away, because the reason is resolved. */
  retryNow(id: string, now: number): void {
    const session = this.find(id);
    session.isPolling = false;
    session.dueAt = now;
  }

  /** Polls fast for a reply, because a message was sent in this session. */
  expectReply(id: string, now: number): void {
    const session = this.find(id);
    session.activeAt = now;
    session.replyExpectedUntil = now + REPLY_EXPECTED_MS;
    if (this.fixedMs !== undefined) return;
    session.dueAt = Math.min(session.dueAt ?? Number.POSITIVE_INFINITY, now + ACTIVE_MS / 2);
  }

  /** Polls the session, if it is followed, no later than a time. A poll that is running by then does not count. */
  pollBy(id: string, time: number): void {
    const session = this.sessions.get(id);
    if (session) session.requestedAt = Math.min(session.requestedAt ?? Number.POSITIVE_INFINITY, time);
  }

  /** Stops polling the session. */
  remove(id: string): void {
    this.sessions.delete(id);
  }

  /** Makes every session due now, because the machine slept or its clock was set. */
  resetClock(now: number): void {
    this.startedAt = now;
    this.pausedUntil = 0;
    this.probeAt = 0;
    for (const session of this.sessions.values()) session.notBefore = 0;
    this.pollAllAt(now);
  }

  private find(id: string): SessionSchedule {
    const session = this.sessions.get(id);
    if (!session) throw new RangeError(`session ${JSON.stringify(id)} is not followed`);
    return session;
  }

  private isProbing(): boolean {
    return this.failures >= MAX_FAILURES;
  }

  private pollAllAt(time: number): void {
    for (const session of this.sessions.values()) session.dueAt = time;
  }

  private idleSessions(): SessionSchedule[] {
    return [...this.sessions.values()].filter(({ dueAt }) => dueAt === undefined);
  }

  /** The idle session whose turn it is; none while an idle one is being polled. */
  private nextIdle(): SessionSchedule | undefined {
    const idle = this.idleSessions();
    if (idle.some(({ isPolling }) => isPolling)) return undefined;
    return idle.sort((left, right) => (left.polledAt ?? 0) - (right.polledAt ?? 0))[0];
  }

  private ownDueAt(session: SessionSchedule, now: number): number | undefined {
    if (this.fixedMs !== undefined) return now + this.fixedMs;
    const least = this.leastDelay();
    if (now < session.replyExpectedUntil) return now + this.withJitter(least);
    const isActive = session.activeAt > this.startedAt && now - session.activeAt < ACTIVE_FOR_MS;
    return isActive ? now + this.withJitter(Math.max(least, delayAfter(now - session.activeAt))) : undefined;
  }

  /** The shortest delay between two polls of a session. */
  private leastDelay(): number {
    const polled = [...this.sessions.values()].filter(({ dueAt }) => dueAt !== undefined).length;
    return Math.max(ACTIVE_MS, polled * DELAY_PER_SESSION_MS);
  }

  /** A poll that was asked for must not put off the turn of another session. */
  private nextSharedDueAt(now: number): number {
    const next = now + this.withJitter(delayAfter(this.idleFor(now)));
    return this.sharedDueAt <= now ? next : Math.min(this.sharedDueAt, next);
  }

  private idleFor(now: number): number {
    return now - Math.max(this.startedAt, ...this.idleSessions().map(({ activeAt }) => activeAt));
  }

  private withJitter(ms: number): number {
    return ms * (1 + JITTER * this.random());
  }
}
