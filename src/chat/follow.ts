import { setMaxListeners } from 'node:events';
import pLimit from 'p-limit';
import type { Http } from '../api/http.ts';
import { SessionCheck } from '../api/session-check.ts';
import type { SessionRef } from '../contract/messages.ts';
import { InterruptedError, isCtrlC, ServiceError, withHint } from '../errors.ts';
import { emitted } from '../platform/emitted.ts';
import {
  type Emit,
  type FollowEnd,
  FollowedSession,
  type Following,
  type FollowOptions,
  type SessionEvent,
} from './followed-session.ts';
import { Health } from './health.ts';
import type { Pace } from './pace.ts';
import type { ChatContext, FollowStart } from './session.ts';

const MAX_CONCURRENT_POLLS = 6;
/** Reading what exists may not wait for ever. */
const READ_OUTAGE_MS = 30_000;

/** Follows the sessions of a command, which share the health of the connection. */
export class Follower implements Following {
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
   * Follows one more session: emits each message once, oldest first, page by page, until the signal aborts or the time is
   * up or, with `once`, until everything was read. Failures of the network and the service are outages, not the end.
   * @throws PartnerctlError that polling again cannot resolve: 401, 402, 403 and, before a first page was read, most
   *   others; ServiceError or RateLimitError after an outage of `maxOutageMs`
   */
  follow(ref: SessionRef, start: FollowStart, emit: Emit<SessionEvent>): Promise<FollowEnd> {
    return new FollowedSession(this, ref, start, emit).run();
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
