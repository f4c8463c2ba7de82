import { setMaxListeners } from 'node:events';
import pLimit from 'p-limit';
import type { Http } from '../api/http.ts';
import { SessionCheck } from '../api/session-check.ts';
import type { Message, SessionRef } from '../contract/messages.ts';
import { InterruptedError, isCtrlC, type PartnerctlError, ServiceError, withHint } from '../errors.ts';
import { emitted } from '../platform/emitted.ts';
import { Health } from './health.ts';
import type { Pace } from './pace.ts';
import type { ChatContext } from './session.ts';

export type SessionEvent = { readonly ref: SessionRef } /** `isBacklog`: it existed at the start. */ & (
  | { readonly kind: 'message'; readonly message: Message; readonly isBacklog: boolean }
  /** Everything that existed at the start has been shown. `isEmpty`: it was nothing, in a session that the service knows. */
  | { readonly kind: 'caught-up'; readonly isEmpty: boolean }
  /** A complete response to a poll that began `at` a time (milliseconds since the epoch). */
  | { readonly kind: 'polled'; readonly at: number; readonly isQuiet: boolean }
  /** The service answered 404 for the session, as it may before the first message. It is treated as empty. */
  | { readonly kind: 'unknown-session' }
  /** Messages may be missing. `isCertain`: the service says that it has more than it sent. */
  | { readonly kind: 'gap'; readonly evidence: string; readonly isCertain: boolean }
  /** The service cannot be reached, or asks for a pause; the next request is after `pauseMs`. */
  | { readonly kind: 'outage'; readonly error: PartnerctlError; readonly pauseMs: number }
  | { readonly kind: 'recovered'; readonly outageMs: number; readonly missed: number }
);

export interface FollowOptions {
  /** Whether to end once everything that exists has been read. */
  readonly once?: boolean;
  /** How long an outage may last, in milliseconds. Without a limit by default; with `once`, for 30 s. */
  readonly maxOutageMs?: number | undefined;
  /** A fixed pause between two polls of a session; adaptive by default. */
  readonly intervalMs?: number | undefined;
  /** The shortest adaptive pause. */
  readonly activeMs?: number | undefined;
  /** How long to follow, in milliseconds: by default for --timeout, or without a limit. */
  readonly limitMs?: number;
}

/** Resolves when the consumer of the events wants more. */
export type Emit<Event> = (event: Event) => Promise<void>;

/** Whether a session was read to its end, or following ended before. One that is followed without end is cut short. */
export type FollowEnd = 'complete' | 'cut short';

const MAX_CONCURRENT_POLLS = 6;
/** Reading what exists may not wait for ever. */
const READ_OUTAGE_MS = 30_000;

/** What the sessions that a command follows share: the health of the connection, and how long they are followed. */
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

  /** Yields what `act` emits while it follows sessions. They end when the consumer stops. @throws as `act` */
  events<Event>(act: (emit: Emit<Event>) => Promise<unknown>): AsyncGenerator<Event, void, void> {
    return emitted(act, () => this.stop());
  }

  /**
   * Checks how following ended. @param isWhole whether what had to be read was read
   * @throws InterruptedError, except for Ctrl-C, which is the normal end of following without end; the last failure, or
   * ServiceError, if the time was up before
   */
  checkEnd(isWhole: boolean): void {
    const { once } = this.options;
    const { reason } = this.context.signals.interrupt;
    if (once && isWhole) return;
    if (reason instanceof InterruptedError && (once || !isCtrlC(reason))) throw reason;
    if (isWhole || reason !== undefined) return;
    const { lastError = new ServiceError('The time limit was reached before all messages were read.') } = this.health;
    throw withHint(lastError, { hint: 'Allow more time with --timeout.' });
  }

  remainingMs(): number {
    const { clock, flags } = this.context;
    const { limitMs = flags.timeout ?? Number.POSITIVE_INFINITY } = this.options;
    return Math.min(this.startedAt + limitMs - clock.now(), this.http.remainingMs());
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
