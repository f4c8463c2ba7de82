/** While a conversation is alive: a reply is then shown well within 1.5 s of its existence. */
export const HOT_MS = 600;
/** The longest pause of the poll: with what the first minutes take, an idle hour stays below 150 requests. */
export const IDLE_MS = 45_000;
/** Waits are longer by up to this part of them, so that many followers spread out. */
export const JITTER = 0.2;
/** The pause is this part of the time that nothing happened. */
const PART_OF_SILENCE = 1 / 6;
/** A session in which something happened within this time has a poll of its own; the others share one. */
const ALIVE_MS = 60_000;
/** How long a reply is waited for at the fastest pace. */
const AWAIT_MS = 180_000;
const RETRY_MS = 400;
const RETRY_CAP_MS = 30_000;
/** From so many failures in a row on, whichever the session, only one poll at a time finds out whether it is over. */
const MOST_FAILURES = 3;

/** What a good answer tells the pacing. */
export interface Answered {
  /** Whether it held messages that came to exist while following. */
  readonly live: boolean;
  /** Whether the newest of them is one that a reply can be expected to. */
  readonly awaiting: boolean;
  /** Whether the history goes on, so that the next page is to be asked at once. */
  readonly more: boolean;
  /** Milliseconds that the service asks to wait. */
  readonly waitMs: number | undefined;
}

/** The next session to ask, or the moment (milliseconds since the epoch) until which there is none. */
export type NextPoll = { readonly session: string } | { readonly at: number };

interface Session {
  readonly id: string;
  /** Undefined before the first poll. */
  askedAt: number | undefined;
  busy: boolean;
  /** When something last happened in it. */
  activeAt: number;
  awaitingUntil: number;
  failures: number;
  /** The moment of its own next poll; undefined while it shares the common one. */
  dueAt: number | undefined;
  /** No poll before this moment, as the service asked. */
  notBefore: number;
}

function pauseAfter(silenceMs: number): number {
  return Math.min(IDLE_MS, Math.max(HOT_MS, silenceMs * PART_OF_SILENCE));
}

function retryPause(failures: number): number {
  return Math.min(RETRY_CAP_MS, RETRY_MS * 2 ** Math.min(failures - 1, 20));
}

/**
 * When to poll which session. It polls fast while a conversation is alive and ever more slowly when nothing happens;
 * idle sessions share one poll, which goes round. What the service asks for (Retry-After, a 429) wins over everything.
 * It keeps no time of its own: every method is told the moment, in milliseconds since the epoch.
 */
export class Pacing {
  private readonly sessions = new Map<string, Session>();
  private readonly fixedMs: number | undefined;
  private readonly random: () => number;
  private startedAt: number;
  private sharedDueAt: number;
  /** Failures without a good answer in between, of all sessions together. */
  private failures = 0;
  /** The next moment at which one session finds out whether the failures are over. */
  private probeAt = 0;
  /** Until when the service does not want to be asked at all. */
  private pausedUntil = 0;

  /** @param fixedMs the pause between two polls of a session, in place of the one that adapts */
  constructor(
    sessions: readonly string[],
    now: number,
    random: () => number,
    { fixedMs }: { readonly fixedMs?: number } = {},
  ) {
    this.fixedMs = fixedMs;
    this.random = random;
    this.startedAt = now;
    this.sharedDueAt = now;
    for (const id of sessions) {
      this.sessions.set(id, {
        id,
        askedAt: undefined,
        busy: false,
        activeAt: now,
        awaitingUntil: 0,
        failures: 0,
        dueAt: now,
        notBefore: 0,
      });
    }
  }

  /** The session whose turn it is. The caller says `asked` before it asks again. */
  next(now: number): NextPoll {
    const free = [...this.sessions.values()].filter(({ busy }) => !busy);
    if (this.probing() && free.length < this.sessions.size) return { at: Number.POSITIVE_INFINITY };
    let first: { readonly session: string; readonly at: number } | undefined;
    for (const session of [...free.filter(({ dueAt }) => dueAt !== undefined), ...this.nextOfShared()]) {
      const at = Math.max(session.dueAt ?? this.sharedDueAt, session.notBefore, this.probeAt, this.pausedUntil);
      if (!first || at < first.at) first = { session: session.id, at };
    }
    if (!first) return { at: Number.POSITIVE_INFINITY };
    return first.at <= now ? { session: first.session } : { at: first.at };
  }

  asked(id: string, now: number): void {
    const session = this.of(id);
    session.busy = true;
    session.askedAt = now;
  }

  answered(id: string, { live, awaiting, more, waitMs }: Answered, now: number): void {
    const session = this.of(id);
    session.busy = false;
    session.failures = 0;
    session.notBefore = waitMs === undefined ? 0 : now + waitMs;
    if (this.probing()) this.catchUp(now);
    this.failures = 0;
    this.probeAt = 0;
    if (live) {
      session.activeAt = now;
      session.awaitingUntil = awaiting ? now + AWAIT_MS : 0;
    }
    session.dueAt = more ? now : this.ownDueAt(session, now);
    if (session.dueAt === undefined) this.sharedDueAt = now + this.jittered(pauseAfter(this.sharedSilence(now)));
  }

  /**
   * A poll failed.
   * @param limited whether by the rate limit, which holds back every session
   * @param retryAt the moment before which the service does not want to be asked again, where it names one
   */
  failed(id: string, now: number, { limited, retryAt }: { limited: boolean; retryAt: number | undefined }): void {
    const session = this.of(id);
    session.busy = false;
    session.failures += 1;
    this.failures += 1;
    session.dueAt = now + this.jittered(retryPause(session.failures));
    if (this.probing()) this.probeAt = now + this.jittered(retryPause(this.failures - MOST_FAILURES + 1));
    const pause = limited ? now + this.jittered(retryPause(this.failures + 1)) : 0;
    this.pausedUntil = Math.max(this.pausedUntil, retryAt ?? pause);
  }

  /** A poll is to be made again at once: it failed for a reason that has been dealt with. */
  again(id: string, now: number): void {
    const session = this.of(id);
    session.busy = false;
    session.dueAt = now;
  }

  /** Something was sent in this session: a reply is expected. */
  sent(id: string, now: number): void {
    const session = this.of(id);
    session.activeAt = now;
    session.awaitingUntil = now + AWAIT_MS;
    if (this.fixedMs === undefined)
      session.dueAt = Math.min(session.dueAt ?? Number.POSITIVE_INFINITY, now + HOT_MS / 2);
  }

  /** The machine slept, or its clock was set: nothing that was planned counts any more. */
  woke(now: number): void {
    this.startedAt = now;
    this.pausedUntil = 0;
    this.probeAt = 0;
    for (const session of this.sessions.values()) session.notBefore = 0;
    this.catchUp(now);
  }

  private of(id: string): Session {
    const session = this.sessions.get(id);
    if (!session) throw new RangeError(`${JSON.stringify(id)} is not followed`);
    return session;
  }

  private probing(): boolean {
    return this.failures >= MOST_FAILURES;
  }

  private catchUp(now: number): void {
    for (const session of this.sessions.values()) session.dueAt = now;
  }

  /** The idle session whose turn it is at the shared poll; none while one of them is being asked. */
  private nextOfShared(): readonly Session[] {
    const idle = [...this.sessions.values()].filter(({ dueAt }) => dueAt === undefined);
    if (idle.some(({ busy }) => busy)) return [];
    return idle.sort((left, right) => (left.askedAt ?? 0) - (right.askedAt ?? 0)).slice(0, 1);
  }

  private ownDueAt(session: Session, now: number): number | undefined {
    if (this.fixedMs !== undefined) return now + this.fixedMs;
    if (now < session.awaitingUntil) return now + this.jittered(HOT_MS);
    const isAlive = session.activeAt > this.startedAt && now - session.activeAt < ALIVE_MS;
    return isAlive ? now + this.jittered(pauseAfter(now - session.activeAt)) : undefined;
  }

  private sharedSilence(now: number): number {
    const idle = [...this.sessions.values()].filter(({ dueAt }) => dueAt === undefined);
    return now - Math.max(this.startedAt, ...idle.map(({ activeAt }) => activeAt));
  }

  private jittered(ms: number): number {
    return ms * (1 + JITTER * this.random());
  }
}
