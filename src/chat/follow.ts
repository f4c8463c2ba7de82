import type { HistoryPage } from '../api/chat.ts';
import type { Http } from '../api/http.ts';
import type { Message } from '../contract/messages.ts';
import { Line } from '../domain/line.ts';
import { Pacing } from '../domain/pacing.ts';
import { NotFoundError, PartnerctlError, RateLimitError, RefusedError, ServiceError, ShapeError } from '../errors.ts';
import type { Clock } from '../io.ts';
import { Mailbox } from './mailbox.ts';
import { FollowedSession, type FollowStart } from './session.ts';

/** What following needs of the world. */
export interface FollowParts {
  readonly http: Http;
  readonly clock: Clock;
  readonly random: () => number;
  /** Ends the following. */
  readonly interrupt: AbortSignal;
}

export interface FollowOptions {
  readonly source_id: string;
  readonly sessions: readonly { readonly session_id: string; readonly start: FollowStart }[];
  /** False: end when everything that is there has been read. */
  readonly follow: boolean;
  /** A fixed pause between two polls of a session, in milliseconds. */
  readonly intervalMs?: number | undefined;
  /** End after this time, whatever came. */
  readonly timeoutMs?: number | undefined;
  /** Fail when the service has been out of reach for so long; without following, 30 s by default. */
  readonly maxOutageMs?: number | undefined;
  /**
   * End once so many replies have come that were not there in the beginning (for a session that begins after a given
   * message, all count), or, with `settleMs`, once there was one and nothing more came for that time.
   */
  readonly until?: { readonly replies: number; readonly settleMs?: number | undefined } | undefined;
  /** Time limit of one poll; it grows while polls fail. */
  readonly pollTimeoutMs?: number | undefined;
  /** Whether a reply is expected from the beginning on, because something was just sent. */
  readonly awaiting?: boolean | undefined;
}

export type FollowEvent =
  | {
      readonly kind: 'message';
      readonly session_id: string;
      readonly message: Message;
      /** Whether it was there when the following began. */
      readonly backlog: boolean;
    }
  /** The service cannot be reached; it goes on trying. Said once in an outage. */
  | { readonly kind: 'lost'; readonly error: PartnerctlError }
  /** It can again, and what came meanwhile has been read: `missed` messages. */
  | { readonly kind: 'back'; readonly outageMs: number; readonly missed: number }
  /** Always the last. */
  | {
      readonly kind: 'end';
      readonly why: 'read' | 'replied' | 'timeout' | 'interrupted';
      /** The last failure, when a session could not be read at the end. */
      readonly error: PartnerctlError | undefined;
      /** Whether any session was read at all. */
      readonly wasRead: boolean;
    };

type EndReason = Extract<FollowEvent, { kind: 'end' }>['why'];

export interface Follower {
  /** To be pulled once. @throws PartnerctlError as `follow` says */
  readonly events: AsyncGenerator<FollowEvent, void, void>;
  /** Something was sent in a session: its reply is looked for at once. */
  sent(sessionId: string): void;
}

const POLL_TIMEOUT_MS = 15_000;
const LONGEST_POLL_MS = 60_000;
const MOST_AT_ONCE = 6;
/** Waiting is cut into slices so that a machine that slept is noticed when it wakes. */
const SLICE_MS = 1_000;
const SLEPT_MS = 5_000;
const READ_OUTAGE_MS = 30_000;
/** After so many unreadable answers in a row to begin with it is the shape, and not the line. */
const MOST_UNREADABLE = 3;

interface Polled {
  readonly session: FollowedSession;
  readonly startedAt: number;
  readonly outcome: { readonly page: HistoryPage } | { readonly error: unknown };
}

/** What a session is that the service does not know yet, because nothing was said in it. */
const NOTHING: HistoryPage = { messages: [], more: false, waitMs: undefined };

function isRefusal(error: unknown): error is NotFoundError | RefusedError {
  return error instanceof NotFoundError || error instanceof RefusedError;
}

/** Whether another attempt may bring what this one did not. What could be read once can be read again some time. */
function mayPass(error: PartnerctlError, session: FollowedSession): boolean {
  if (isRefusal(error)) return session.wasRead;
  if (error instanceof ShapeError) return session.wasRead || session.unreadable < MOST_UNREADABLE;
  if (error instanceof ServiceError) return session.wasRead || error.facts.lasting !== true;
  return error instanceof RateLimitError;
}

/** Whether the service says that it is the source that it does not know, and not the session or a resource. */
function namesSource({ facts }: NotFoundError): boolean {
  const said = `${facts.code ?? ''} ${facts.why ?? ''}`;
  return /(?<![a-z])source|chat_?source/i.test(said) && !/session/i.test(said);
}

function retryAtOf(error: PartnerctlError): number | undefined {
  const retryAt = error.facts.retryAt === undefined ? Number.NaN : Date.parse(error.facts.retryAt);
  return Number.isNaN(retryAt) ? undefined : retryAt;
}

class Following {
  private readonly parts: FollowParts;
  private readonly options: FollowOptions;
  private readonly sessions: ReadonlyMap<string, FollowedSession>;
  private readonly pacing: Pacing;
  private readonly line = new Line();
  private readonly mailbox = new Mailbox<Polled>();
  private readonly closing = new AbortController();
  private readonly endsAt: number;
  private readonly maxOutageMs: number;
  private atOnce = 0;
  private replies = 0;
  private lastShownAt: number;
  private isQuiet = false;
  private lastError: PartnerctlError | undefined;

  constructor(parts: FollowParts, options: FollowOptions) {
    const { intervalMs, timeoutMs, maxOutageMs, follow, awaiting } = options;
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
    this.endsAt = now + (timeoutMs ?? Number.POSITIVE_INFINITY);
    this.maxOutageMs = maxOutageMs ?? (follow ? Number.POSITIVE_INFINITY : READ_OUTAGE_MS);
    this.lastShownAt = now;
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
    const { follow, until } = this.options;
    if (this.closing.signal.aborted) return 'interrupted';
    if (until && (this.isQuiet || this.replies >= until.replies)) return 'replied';
    if (!follow && [...this.sessions.values()].every(({ caughtUp }) => caughtUp)) return 'read';
    const isTimeUp = this.parts.clock.now() >= this.endsAt || this.parts.http.patienceMs() <= 0;
    return isTimeUp ? 'timeout' : undefined;
  }

  private end(why: EndReason): FollowEvent {
    const error = this.line.failingSince() === undefined ? undefined : this.lastError;
    return { kind: 'end', why, error, wasRead: [...this.sessions.values()].some(({ wasRead }) => wasRead) };
  }

  private checkOutage(): void {
    const now = this.parts.clock.now();
    if (now < this.outageEndsAt()) return;
    const { lastError, maxOutageMs } = this;
    const Kind = lastError instanceof RateLimitError ? RateLimitError : ServiceError;
    throw new Kind(`The service has been out of reach for ${Math.round(maxOutageMs / 1000)} s.`, {
      ...lastError?.facts,
      why: [lastError?.message, lastError?.facts.why].filter((line) => line !== undefined).join('\n'),
      cause: lastError,
    });
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
    const nap = due < Number.POSITIVE_INFINITY ? this.nap(due, waiting.signal) : undefined;
    await this.mailbox.filled();
    waiting.abort();
    await nap;
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
      timeoutMs: Math.max(1, Math.min(longest, this.endsAt - clock.now(), this.outageEndsAt() - clock.now())),
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
    const until = Math.min(due, this.endsAt, this.outageEndsAt(), clock.now() + http.patienceMs());
    try {
      for (let now = clock.now(), isOver = false; !isOver; ) {
        const slice = Math.max(0, Math.min(SLICE_MS, until - now));
        await clock.sleep(slice, signal);
        const passed = clock.now() - now;
        now += passed;
        const woke = passed > slice + SLEPT_MS || passed < -SLICE_MS;
        if (woke) this.woke(now);
        isOver = woke || now >= until;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    this.mailbox.stir();
  }

  private woke(now: number): void {
    this.pacing.woke(now);
    this.line.woke(now);
    for (const session of this.sessions.values()) session.suspicious = true;
  }

  private *handle({ session, startedAt, outcome }: Polled): Generator<FollowEvent, void, void> {
    const page = 'page' in outcome ? outcome.page : this.nothingYet(session, outcome.error);
    if ('error' in outcome && !page) {
      yield* this.handleFailure(session, startedAt, outcome.error);
      return;
    }
    if (page) yield* this.handlePage(session, startedAt, page);
  }

  /** A service may not know a session before the first message. */
  private nothingYet(session: FollowedSession, error: unknown): HistoryPage | undefined {
    const isUnknown = error instanceof NotFoundError && !session.wasRead && !session.hasCursor;
    return isUnknown && !namesSource(error) ? NOTHING : undefined;
  }

  private *handlePage(
    session: FollowedSession,
    startedAt: number,
    page: HistoryPage,
  ): Generator<FollowEvent, void, void> {
    const now = this.parts.clock.now();
    // No poll takes as long: the machine slept over it, and its answer is old.
    const overslept = now - startedAt > LONGEST_POLL_MS + SLEPT_MS || now < startedAt - SLICE_MS;
    const { messages, backlog, more, atOnce } = session.accept(page, now);
    const newest = messages.at(-1);
    const live = newest !== undefined && !backlog;
    this.pacing.answered(
      session.id,
      { live, awaiting: newest?.role === 'user', more: atOnce, waitMs: page.waitMs },
      now,
    );
    if (overslept) this.woke(now);
    this.noteQuiet(messages.length > 0 || more, startedAt, now);
    const { until } = this.options;
    for (const message of messages) {
      yield { kind: 'message', session_id: session.id, message, backlog };
      if (message.isReply && (!backlog || session.backlogCounts)) this.replies += 1;
      if (until && this.replies >= until.replies) return;
    }
    const back = this.line.answered(session.id, messages.length, !more, now);
    if (back) yield { kind: 'back', ...back };
  }

  /** Quiet is what a poll finds that began after the time to settle, and brought nothing. */
  private noteQuiet(isLively: boolean, startedAt: number, now: number): void {
    const settleMs = this.options.until?.settleMs;
    if (isLively) this.lastShownAt = now;
    else if (settleMs !== undefined && this.replies > 0 && startedAt >= this.lastShownAt + settleMs)
      this.isQuiet = true;
  }

  private *handleFailure(
    session: FollowedSession,
    startedAt: number,
    error: unknown,
  ): Generator<FollowEvent, void, void> {
    if (!(error instanceof PartnerctlError)) throw error;
    const now = this.parts.clock.now();
    const { isMidway } = session;
    if (isRefusal(error) && !isMidway && session.refuse()) {
      this.pacing.again(session.id, now);
      return;
    }
    if (error instanceof ShapeError) session.unreadable += 1;
    if (!(isRefusal(error) && isMidway) && !mayPass(error, session)) throw error;
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
