import type { HistoryPage } from '../api/chat.ts';
import { NotFoundError, PartnerctlError, RateLimitError, ShapeError } from '../errors.ts';
import { Ending } from './ending.ts';
import type { Gap } from './extent.ts';
import { meaningOf, outageError, retryAtOf, withheldError } from './failure.ts';
import { Line } from './line.ts';
import { Mailbox } from './mailbox.ts';
import { isOverslept, nap } from './nap.ts';
import { Pacing } from './pacing.ts';
import { FollowedSession, NOTHING } from './session.ts';
import type { EndReason, FollowEvent, Follower, FollowOptions, FollowParts } from './terms.ts';

const POLL_TIMEOUT_MS = 15_000;
const LONGEST_POLL_MS = 60_000;
const MOST_AT_ONCE = 6;
const READ_OUTAGE_MS = 30_000;
/** A history may be that far behind what was registered. */
const LAG_MS = 10_000;

interface Polled {
  readonly session: FollowedSession;
  readonly startedAt: number;
  readonly outcome: { readonly page: HistoryPage } | { readonly error: unknown };
}

class Following {
  private readonly parts: FollowParts;
  private readonly options: FollowOptions;
  private readonly sessions: ReadonlyMap<string, FollowedSession>;
  private readonly pacing: Pacing;
  private readonly line = new Line();
  private readonly mailbox = new Mailbox<Polled>();
  private readonly closing = new AbortController();
  private readonly ending: Ending;
  private readonly maxOutageMs: number;
  /** Until when a message that was just registered may be unknown to the history. */
  private readonly lagsUntil: number;
  private atOnce = 0;
  private lastError: PartnerctlError | undefined;
  /** What the service says that there is and did not show. */
  private withheld: ShapeError | undefined;

  constructor(parts: FollowParts, options: FollowOptions) {
    const { intervalMs, maxOutageMs, follow, awaiting, registered } = options;
    const now = parts.clock.now();
    this.parts = parts;
    this.options = options;
    this.sessions = new Map(
      options.sessions.map(({ session_id, start }) => [
        session_id,
        new FollowedSession(session_id, start, now, follow),
      ]),
    );
    const ids = [...this.sessions.keys()];
    this.pacing = new Pacing(ids, now, parts.random, intervalMs === undefined ? {} : { fixedMs: intervalMs });
    if (awaiting) for (const id of ids) this.pacing.sent(id, now);
    this.ending = new Ending(options, now);
    this.lagsUntil = registered ? now + LAG_MS : now;
    this.maxOutageMs = maxOutageMs ?? (follow ? Number.POSITIVE_INFINITY : READ_OUTAGE_MS);
  }

  sent(sessionId: string): void {
    this.pacing.sent(sessionId, this.parts.clock.now());
    this.mailbox.stir();
  }

  async *events(): AsyncGenerator<FollowEvent, void, void> {
    const { interrupt } = this.parts;
    const close = (): void => {
      this.closing.abort(interrupt.reason);
      this.mailbox.stir();
    };
    interrupt.addEventListener('abort', close, { once: true });
    if (interrupt.aborted) close();
    try {
      for (;;) {
        const why = this.ended();
        if (why) {
          if (why === 'read' && this.withheld) throw this.withheld;
          yield this.end(why);
          return;
        }
        const polled = this.mailbox.take();
        if (polled) {
          yield* this.handle(polled);
        } else {
          this.checkOutage();
          await this.pollAndWait();
        }
      }
    } finally {
      interrupt.removeEventListener('abort', close);
      this.closing.abort(new Error('nobody follows any more'));
    }
  }

  private ended(): EndReason | undefined {
    const { clock, http } = this.parts;
    return this.ending.why({
      isInterrupted: this.closing.signal.aborted,
      isRead: [...this.sessions.values()].every(({ caughtUp }) => caughtUp),
      patienceMs: http.remainingMs(),
      now: clock.now(),
    });
  }

  private end(why: EndReason): FollowEvent {
    const error = this.line.failingSince() === undefined ? undefined : this.lastError;
    return { kind: 'end', why, error, wasRead: [...this.sessions.values()].some(({ wasRead }) => wasRead) };
  }

  private checkOutage(): void {
    if (this.parts.clock.now() >= this.outageEndsAt()) throw outageError(this.lastError, this.maxOutageMs);
  }

  private outageEndsAt(): number {
    const since = this.line.failingSince();
    return since === undefined ? Number.POSITIVE_INFINITY : since + this.maxOutageMs;
  }

  /** Starts the polls that are due, and waits for one to end or another to fall due. */
  private async pollAndWait(): Promise<void> {
    const now = this.parts.clock.now();
    let next = this.pacing.next(now);
    while ('session' in next && this.atOnce < MOST_AT_ONCE) {
      void this.poll(next.session, now);
      next = this.pacing.next(now);
    }
    const waiting = new AbortController();
    // When every session is being asked, the polls' own time limits are the only clock that counts.
    const due = 'at' in next ? next.at : Number.POSITIVE_INFINITY;
    const napping = due < Number.POSITIVE_INFINITY ? this.nap(due, waiting.signal) : undefined;
    await this.mailbox.filled();
    waiting.abort();
    await napping;
  }

  private async poll(id: string, startedAt: number): Promise<void> {
    const session = this.sessions.get(id);
    if (!session) return;
    const { clock, http } = this.parts;
    this.pacing.asked(id, startedAt);
    this.atOnce += 1;
    const usual = this.options.pollTimeoutMs ?? POLL_TIMEOUT_MS;
    const longest = Math.min(LONGEST_POLL_MS, usual * 2 ** session.failures);
    const limits = () => ({
      retries: 0,
      timeoutMs: Math.max(1, Math.min(longest, this.ending.endsAt - clock.now(), this.outageEndsAt() - clock.now())),
      freshConnection: session.suspicious,
      signal: this.closing.signal,
    });
    let outcome: Polled['outcome'];
    try {
      outcome = { page: await session.poll(http, this.options.source_id, () => clock.now(), limits) };
    } catch (error) {
      outcome = { error };
    }
    this.atOnce -= 1;
    this.mailbox.put({ session, startedAt, outcome });
  }

  /** Waits until something is due, the time is up, or the machine wakes from a sleep. */
  private async nap(due: number, signal: AbortSignal): Promise<void> {
    const { clock, http } = this.parts;
    const until = Math.min(due, this.ending.endsAt, this.outageEndsAt(), clock.now() + http.remainingMs());
    if (await nap(clock, until, signal)) this.woke(clock.now());
    this.mailbox.stir();
  }

  private woke(now: number): void {
    this.pacing.woke(now);
    this.line.woke(now);
    for (const session of this.sessions.values()) session.suspicious = true;
  }

  private *handle({ session, startedAt, outcome }: Polled): Generator<FollowEvent, void, void> {
    if ('page' in outcome) yield* this.handlePage(session, startedAt, outcome.page);
    else yield* this.handleFailure(session, startedAt, outcome.error);
  }

  private *handlePage(
    session: FollowedSession,
    startedAt: number,
    page: HistoryPage,
  ): Generator<FollowEvent, void, void> {
    const now = this.parts.clock.now();
    // No poll takes as long: the machine slept over it, and its answer is old.
    const overslept = isOverslept(now - startedAt, LONGEST_POLL_MS);
    const { messages, more, atOnce, isRead, gap } = session.accept(page, now);
    const { message: newest, backlog: isOld = true } = messages.at(-1) ?? {};
    const live = !isOld;
    this.pacing.answered(
      session.id,
      { live, awaiting: newest?.role === 'user', more: atOnce, waitMs: page.requestedWaitMs },
      now,
    );
    if (overslept) this.woke(now);
    this.ending.polled(messages.length > 0 || more, startedAt, now);
    for (const { message, backlog } of messages) {
      yield { kind: 'message', session_id: session.id, message, backlog };
      if (message.isReply && (!backlog || session.backlogCounts)) this.ending.replied();
      if (this.ending.hasReplies) return;
    }
    if (isRead) yield { kind: 'read', session_id: session.id, latest: session.latest };
    if (gap) yield* this.handleGap(session.id, gap);
    const back = this.line.answered(session.id, messages.length, !more, now);
    if (back) yield { kind: 'back', ...back };
  }

  /** Without following, the end would claim that it was all. */
  private *handleGap(session_id: string, { seen, isCertain }: Gap): Generator<FollowEvent, void, void> {
    if (this.options.follow || !isCertain) yield { kind: 'gap', session_id, seen };
    else this.withheld ??= withheldError(session_id, seen);
  }

  private *handleFailure(
    session: FollowedSession,
    startedAt: number,
    error: unknown,
  ): Generator<FollowEvent, void, void> {
    if (!(error instanceof PartnerctlError)) throw error;
    const now = this.parts.clock.now();
    if (error instanceof ShapeError) session.unreadable += 1;
    const meaning = meaningOf(error, session);
    if (meaning === 'unknown') {
      if (!session.wasUnknown) yield { kind: 'unknown', session_id: session.id, error };
      session.wasUnknown = true;
      yield* this.handlePage(session, startedAt, NOTHING);
      return;
    }
    if (meaning === 'refused' && session.refuse()) {
      this.pacing.again(session.id, now);
      return;
    }
    const mayLag = error instanceof NotFoundError && now < this.lagsUntil;
    if (meaning === 'final' || (meaning === 'refused' && !session.wasRead && !mayLag)) throw error;
    session.fail();
    this.lastError = error;
    this.pacing.failed(session.id, now, { limited: error instanceof RateLimitError, retryAt: retryAtOf(error) });
    if (this.line.failed(session.id, startedAt, now)) yield { kind: 'lost', error };
  }
}

/**
 * Follows one session or several of a source: every message once and in order, for as long as the events are pulled.
 * It outlives resets, timeouts, 5xx and 429, and a machine that sleeps; the first to end it are the interrupt, the
 * options, or an error that does not pass.
 * @throws CredentialsError (401, 403) and BalanceError (402) at once; for a session that was never read also
 * NotFoundError (of the source or a cursor), RefusedError, ShapeError and a lasting ServiceError; ServiceError or
 * RateLimitError when the service was out of reach for `maxOutageMs`
 */
export function follow(parts: FollowParts, options: FollowOptions): Follower {
  const following = new Following(parts, options);
  return { events: following.events(), sent: (sessionId) => following.sent(sessionId) };
}
