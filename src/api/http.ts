import { setMaxListeners } from 'node:events';
import type { Clock } from '../clock.ts';
import { buildRequestPath, type Operation, type Safety } from '../contract/operations.ts';
import { InterruptedError, type PartnerctlError, UsageError } from '../errors.ts';
import { type ApiResponse, createApiResponse } from './api-response.ts';
import { networkError, responseError } from './call-errors.ts';
import { type AttemptOutcome, decideRetry, parseRetryAfter, RetryBudget } from './retry.ts';
import { BodyInFlight, type StreamedBody } from './streamed-body.ts';
import type { HttpRequest, Transport, TransportResult } from './transport.ts';

/** What a watcher (-v, --debug, progress) is told. Bodies and headers are not redacted yet. */
export type TraceEvent =
  | { readonly kind: 'request'; readonly attempt: number; readonly request: HttpRequest; readonly url: string }
  | {
      readonly kind: 'reply';
      readonly request: HttpRequest;
      readonly url: string;
      readonly reply: TransportResult;
      readonly ms: number;
    }
  | { readonly kind: 'wait'; readonly ms: number; readonly why: string };

export interface HttpOptions {
  readonly transport: Transport;
  /** The base address without a closing slash. */
  readonly baseUrl: string;
  readonly token: string;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly random: () => number;
  /** Aborted by the first Ctrl-C. */
  readonly interrupt: AbortSignal;
  readonly retries: number;
  /** The command's deadline in milliseconds since the epoch. */
  readonly deadline: number | undefined;
  readonly trace: (event: TraceEvent) => void;
  /** Takes secrets out of a text that is going to be quoted. */
  readonly redact: (text: string) => string;
}

export interface CallOptions {
  readonly parameters?: Readonly<Record<string, string>>;
  /** Path and query in place of the operation's own path: a link to a further page. Begins with the base path. */
  readonly link?: string;
  /** Query parameters of the operation's own path; those that are undefined are left out. Not added to a `link`. */
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly json?: unknown;
  /**
   * In place of `json`. The time limits of a call do not hold for it then, only one for how long nothing of it is taken; the
   * command's deadline does.
   */
  readonly body?: StreamedBody;
  /** Repeats after the first attempt, in place of the configured number. */
  readonly retries?: number;
  /** Milliseconds that this call may take, waits and retries included; the command's deadline still counts. */
  readonly timeoutMs?: number;
  /** Whether to use a connection that nothing else has used, where a kept-alive one may be dead. */
  readonly freshConnection?: boolean;
  /** Ends a `safe` call from outside: it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Stricter than the operation's own declaration, for a caller that wants to look before it repeats. */
  readonly safety?: Safety;
}

/** Why a call is not tried again. */
interface CallEnd {
  readonly outOfTime: boolean;
  /** Moment in milliseconds before which a repeat is pointless. */
  readonly retryAt: number | undefined;
}

/**
 * A call without a deadline of its own ends after this long, waits and retries included; one attempt always does. Where what
 * is sent may take any time, it is the longest single wait.
 */
const CALL_TIMEOUT_MS = 120_000;
const READ_HEADERS_TIMEOUT_MS = 30_000;
const PAUSE_SPREAD_MS = 1_000;
/** How long a `once` call in flight may go on after Ctrl-C. */
const INTERRUPT_GRACE_MS = 5_000;

/** The shared HTTP core: authentication, deadlines, retries, the pause after a 429, and errors that say what happened. */
export class Http {
  readonly baseUrl: string;
  /** The path of the base address, `/v1` mostly. */
  readonly basePath: string;
  private readonly options: HttpOptions;
  private readonly budget = new RetryBudget();
  private pausedUntil = 0;
  private requests = 0;

  constructor(options: HttpOptions) {
    this.options = options;
    this.baseUrl = options.baseUrl;
    this.basePath = new URL(options.baseUrl).pathname.replace(/\/$/, '');
    // Every call in flight listens to it, as many as run at a time; Node takes more than ten for a leak and says so.
    setMaxListeners(0, options.interrupt);
  }

  /**
   * Calls an operation until it succeeds or may not be repeated.
   * @throws PartnerctlError of the class that fits the end: credentials, balance, not found, rate limit, service, refused,
   * interrupted. For a `once` call every open end is an OutcomeUnknownError, an answer that cannot be read included, and
   * every other class proves that nothing was done.
   */
  async call(declared: Operation, options: CallOptions = {}): Promise<ApiResponse> {
    const operation = options.safety ? { ...declared, safety: options.safety } : declared;
    const path = options.link ?? this.basePath + requestPath(operation, options);
    const isEndless = options.body !== undefined && this.options.deadline === undefined;
    const patience = isEndless ? Number.POSITIVE_INFINITY : this.remainingMs();
    const deadline = this.options.clock.now() + Math.min(patience, options.timeoutMs ?? Number.POSITIVE_INFINITY);

    for (let attempt = 1; ; attempt += 1) {
      await this.waitForPause(operation, attempt, deadline, options.signal);
      const request = this.prepare(operation, path, options, deadline);
      const reply = await this.attempt(request, operation, attempt, deadline, options);
      if (reply.kind === 'response' && isSuccess(reply)) {
        this.budget.giveBack();
        return createApiResponse(operation, reply, request, attempt, this.options.redact);
      }
      const retries = options.retries ?? this.options.retries;
      const next = this.afterFailure(reply, operation, { attempt, retries, deadline });
      if ('end' in next) throw this.failed(reply, operation, request, attempt, next.end);
      const why = reply.kind === 'response' ? `after ${reply.status}` : `after: ${reply.message}`;
      await this.wait(next.delayMs, why, options.signal);
    }
  }

  /** Milliseconds that a call that starts now may take, and a wait before one. */
  remainingMs(): number {
    const { clock, deadline } = this.options;
    return deadline === undefined ? CALL_TIMEOUT_MS : deadline - clock.now();
  }

  /** The longest wait where so many milliseconds are left. */
  private waitMs(timeLeft: number): number {
    return this.options.deadline === undefined ? Math.min(CALL_TIMEOUT_MS, timeLeft) : timeLeft;
  }

  /** Whether another attempt follows, and when. A 429 holds back every call, and costs nothing of the retry budget. */
  private afterFailure(
    reply: TransportResult,
    { safety }: Operation,
    { attempt, retries, deadline }: { readonly attempt: number; readonly retries: number; readonly deadline: number },
  ): { readonly delayMs: number } | { readonly end: CallEnd } {
    const { clock, random } = this.options;
    const outcome = this.outcomeOf(reply);
    const now = clock.now();
    const question = { safety, attempt, retries, outcome, timeLeftMs: this.waitMs(deadline - now), random: random() };
    const decision = decideRetry(question);
    const floor = outcome.kind === 'response' ? outcome.retryAfterMs : undefined;
    const retryAt = floor === undefined ? undefined : now + floor;
    const limited = outcome.kind === 'response' && outcome.status === 429;
    if (limited)
      this.pausedUntil = Math.max(this.pausedUntil, now + (decision.retry ? decision.delayMs : (floor ?? 0)));
    if (!decision.retry) return { end: { outOfTime: decision.why === 'deadline', retryAt } };
    if (!limited && !this.budget.take()) return { end: { outOfTime: false, retryAt } };
    return { delayMs: decision.delayMs };
  }

  private prepare(operation: Operation, path: string, options: CallOptions, deadline: number): HttpRequest {
    const { token, userAgent, clock, random } = this.options;
    const timeLeft = attemptMs(deadline - clock.now());
    // The number tells requests of one process apart, whatever the random part comes to.
    this.requests += 1;
    const requestId = `req-${Math.floor(random() * 2 ** 48)
      .toString(16)
      .padStart(12, '0')}-${this.requests}`;
    const body = options.json === undefined ? undefined : JSON.stringify(options.json);
    return {
      method: operation.method,
      path,
      requestId,
      body,
      freshConnection: operation.safety === 'once' || options.freshConnection === true,
      headersTimeoutMs:
        operation.safety === 'safe' ? Math.min(READ_HEADERS_TIMEOUT_MS, timeLeft + 1000) : timeLeft + 1000,
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json',
        'user-agent': userAgent,
        'x-request-id': requestId,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(options.body && { 'content-type': options.body.contentType, 'content-length': String(options.body.bytes) }),
      },
      signal: new AbortController().signal,
    };
  }

  /** One attempt under the deadline, Ctrl-C, and the caller's own signal. */
  private async attempt(
    prepared: HttpRequest,
    operation: Operation,
    attempt: number,
    deadline: number,
    { signal, body }: CallOptions,
  ): Promise<TransportResult> {
    const { transport, trace, clock, interrupt } = this.options;
    if (interrupt.aborted) throw new InterruptedError('Interrupted.');
    signal?.throwIfAborted();
    // Sent all the same, it could be carried out before the timer goes off.
    if (deadline <= clock.now()) return unsent(new TimeUp(), false);
    const control = new AbortController();
    const ended = new AbortController();
    let timeUp: NodeJS.Timeout | undefined;
    const allowTime = (): void => {
      clearTimeout(timeUp);
      timeUp = setTimeout(() => control.abort(new TimeUp()), attemptMs(deadline - clock.now()));
    };
    allowTime();
    const inFlight = body && new BodyInFlight(body, allowTime);
    const request = { ...prepared, ...(inFlight && { body: inFlight }), signal: control.signal };
    const stop = (): void => control.abort(new InterruptedError('Interrupted.'));
    const onInterrupt = (): void => {
      if (operation.safety !== 'once' || inFlight?.isComplete === false) stop();
      else {
        trace({
          kind: 'wait',
          ms: INTERRUPT_GRACE_MS,
          why: 'at most for the answer; interrupted again, it ends at once',
        });
        clock.sleep(INTERRUPT_GRACE_MS, ended.signal).then(stop, () => undefined);
      }
    };
    const onSignal = (): void => {
      if (operation.safety === 'safe') control.abort(signal?.reason);
    };
    interrupt.addEventListener('abort', onInterrupt, { once: true });
    signal?.addEventListener('abort', onSignal, { once: true });

    const url = new URL(this.baseUrl).origin + request.path;
    const started = clock.now();
    trace({ kind: 'request', attempt, request, url });
    try {
      const reply = await transport.send(request);
      trace({ kind: 'reply', request, url, reply, ms: clock.now() - started });
      if (interrupt.aborted && operation.safety !== 'once' && reply.kind === 'failure')
        throw new InterruptedError('Interrupted.');
      if (operation.safety === 'safe') signal?.throwIfAborted();
      return reply;
    } catch (reason) {
      const reply = unsent(reason, inFlight?.hasBegun === true);
      const isLate = reason instanceof TimeUp;
      const shown = isLate ? reply : { ...reply, left: true, message: 'it was broken off' };
      trace({ kind: 'reply', request, url, reply: shown, ms: clock.now() - started });
      if (!isLate) throw reason;
      return reply;
    } finally {
      clearTimeout(timeUp);
      ended.abort();
      interrupt.removeEventListener('abort', onInterrupt);
      signal?.removeEventListener('abort', onSignal);
    }
  }

  private outcomeOf(reply: TransportResult): AttemptOutcome {
    if (reply.kind === 'failure') return reply;
    const retryAfterMs = parseRetryAfter(reply.headers['retry-after'], reply.headers.date, this.options.clock.now());
    const { status, early } = reply;
    return { kind: 'response', status, early, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  }

  private failed(
    reply: TransportResult,
    operation: Operation,
    request: HttpRequest,
    attempts: number,
    end: CallEnd,
  ): PartnerctlError {
    const call = { operation, baseUrl: this.baseUrl, requestId: request.requestId, attempts, ...end };
    if (reply.kind === 'failure') return networkError(reply, call);
    // Before anything is quoted and cut: half a secret could not be recognised any more.
    return responseError({ ...reply, body: this.options.redact(reply.body) }, call);
  }

  private async wait(ms: number, why: string, signal: AbortSignal | undefined): Promise<void> {
    const { trace, clock, interrupt } = this.options;
    trace({ kind: 'wait', ms, why });
    try {
      await clock.sleep(ms, signal ? AbortSignal.any([interrupt, signal]) : interrupt);
    } catch (error) {
      if (interrupt.aborted) throw new InterruptedError('Interrupted.');
      throw error;
    }
  }

  /** A 429 to one call holds back all of them. */
  private async waitForPause(
    operation: Operation,
    attempt: number,
    deadline: number,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    for (let now = this.options.clock.now(); this.pausedUntil > now; now = this.options.clock.now()) {
      if (this.pausedUntil - now > this.waitMs(deadline - now)) {
        const reply: TransportResult = {
          kind: 'response',
          status: 429,
          headers: {},
          body: '',
          early: true,
          premature: true,
        };
        const call = {
          operation,
          baseUrl: this.baseUrl,
          requestId: undefined,
          attempts: attempt - 1,
          outOfTime: true,
          retryAt: this.pausedUntil,
        };
        throw responseError(reply, call);
      }
      // Those that were held back together must not come back in the same millisecond.
      const spreadMs = Math.min(PAUSE_SPREAD_MS * this.options.random(), deadline - this.pausedUntil);
      await this.wait(this.pausedUntil - now + spreadMs, 'as the rate limit asks', signal);
    }
  }
}

function requestPath(operation: Operation, { parameters, query }: CallOptions): string {
  try {
    return buildRequestPath(operation, parameters, query);
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(error.message);
    throw error;
  }
}

/** What comes before the service can have all that matters of a request is not about it, whatever its status. */
function isSuccess({ status, premature }: Extract<TransportResult, { kind: 'response' }>): boolean {
  return status >= 200 && status < 300 && !premature;
}

/** How long one attempt may take when so many milliseconds are left. */
function attemptMs(timeLeft: number): number {
  return Math.min(CALL_TIMEOUT_MS, Math.max(0, timeLeft));
}

/** The end of an attempt whose time was up before all of it left, or any of it. */
function unsent(cause: unknown, began: boolean): Extract<TransportResult, { kind: 'failure' }> {
  const message = began ? 'no more of it was taken in time' : 'nothing could be sent in time';
  return { kind: 'failure', began, left: false, transient: true, message, code: undefined, status: undefined, cause };
}

class TimeUp extends Error {
  constructor() {
    super('no complete answer came in time');
  }
}
