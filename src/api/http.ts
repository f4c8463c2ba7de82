import { setMaxListeners } from 'node:events';
import { Contract } from '../contract/contract.ts';
import type { Operation, RawOperation } from '../contract/operations.ts';
import { readSlashRedirect, withTrailingSlash } from '../contract/request.ts';
import { InterruptedError, LocalError, type PartnerctlError, RateLimitError } from '../errors.ts';
import { ApiResponse } from './api-response.ts';
import { ATTEMPT_TIMEOUT_MS, type AttemptDeps, runAttempt } from './attempt.ts';
import { type CallFacts, type FailedCall, networkError, responseError, type TokenOrigin } from './call-errors.ts';
import { type Call, type CallOptions, toHttpRequest, toWire } from './call-request.ts';
import { decideRetry, retryAfterOf } from './retry.ts';
import type { HttpResponse, TransportResult } from './transport.ts';
import { SendRefused } from './transport-failure.ts';

/** What a client is made of. */
export interface HttpOptions extends AttemptDeps {
  /** The base URL without a trailing slash. */
  readonly baseUrl: string;
  readonly token: string;
  /** Where the token comes from, for messages. */
  readonly tokenOrigin?: TokenOrigin | undefined;
  readonly userAgent: string;
  readonly random: () => number;
  readonly retries: number;
  /** The command's deadline in milliseconds since the epoch. */
  readonly deadline: number | undefined;
  /** The value of --timeout in milliseconds, for messages. */
  readonly timeoutMs?: number | undefined;
  /** Removes secrets from a text before it is quoted. */
  readonly redact: (text: string) => string;
  /** What is known of the service's wire format; the defaults if undefined. */
  readonly contract?: Contract | undefined;
  /** Called with what the user has to know about the answers of the service. */
  readonly onWarning?: ((text: string) => void) | undefined;
}

/** The caller no longer allowed a request when its connection stood: nothing was sent. */
export class NotSentError extends LocalError {}

/** Why a call ends. */
type End = Pick<FailedCall, 'isOutOfTime' | 'retryAt'>;

/** The time limit of a call without a deadline, including waits and retries. Also limits each single wait. */
const CALL_TIMEOUT_MS = ATTEMPT_TIMEOUT_MS;

/** The HTTP client: authentication, deadlines, the one retry loop, and the pause after a 429. */
export class Http {
  readonly baseUrl: string;
  /** The path of the base URL, usually `/v1`. */
  readonly basePath: string;
  /** The service's wire format. */
  readonly contract: Contract;
  private readonly options: HttpOptions;
  private pausedUntil = 0;
  private requests = 0;

  constructor(options: HttpOptions) {
    this.options = options;
    this.contract = options.contract ?? new Contract();
    this.baseUrl = options.baseUrl;
    this.basePath = new URL(options.baseUrl).pathname.replace(/\/$/, '');
    // Every call in flight adds a listener. By default, Node warns of a leak after ten.
    setMaxListeners(0, options.interrupt);
  }

  /**
   * Calls an operation, and retries it until it succeeds or may not be retried. A read follows one redirect to the path
   * with or without a trailing slash.
   * @throws PartnerctlError by the status; NotSentError if `maySend` forbids it. A `once` call throws OutcomeUnknownError
   * if the service may have processed it; every other class proves that it did nothing
   */
  async call(operation: Operation | RawOperation, options: CallOptions = {}): Promise<ApiResponse> {
    const { clock, deadline } = this.options;
    const { body, timeoutMs = Number.POSITIVE_INFINITY } = options;
    const now = clock.now();
    // A streamed body may take any time while it makes progress.
    const ofCall = body === undefined ? now + CALL_TIMEOUT_MS : Number.POSITIVE_INFINITY;
    const wire = toWire(operation, options, this);
    return await this.run({ operation, options, wire, deadline: Math.min(deadline ?? ofCall, now + timeoutMs) }, false);
  }

  /** Warns the user. */
  warn(text: string): void {
    this.options.onWarning?.(text);
  }

  /** Returns how long a call that starts now may take, in milliseconds. */
  remainingMs(): number {
    const { clock, deadline } = this.options;
    return deadline === undefined ? CALL_TIMEOUT_MS : deadline - clock.now();
  }

  private async run(call: Call, isRedirected: boolean): Promise<ApiResponse> {
    const { operation, options, wire, deadline } = call;
    const { safety } = operation;
    for (let attempts = 1; ; attempts += 1) {
      await this.waitForRateLimit(call);
      const requestId = this.newRequestId();
      const facts = this.factsOf(call, attempts);
      const request = toHttpRequest(call, this.options, requestId, deadline - this.options.clock.now());
      const { body: stream, signal } = options;
      const attempt = { number: attempts, url: facts.url, request, stream, safety, deadline, signal };
      const result = await runAttempt(this.options, attempt);
      if (result.kind === 'response') {
        if (isSuccess(result)) return new ApiResponse(result, facts, requestId);
        const mayFollow = safety === 'safe' && operation.leaf !== undefined && !isRedirected;
        const slash = mayFollow ? readSlashRedirect(result, facts.url) : undefined;
        if (slash !== undefined) {
          return await this.run({ ...call, wire: { ...wire, path: withTrailingSlash(wire.path, slash) } }, true);
        }
      }
      const next = this.decideNext(result, call, attempts);
      if (typeof next !== 'number') {
        if (result.kind === 'response') options.onRefusal?.(result);
        throw this.toError(result, call, { ...facts, ...next, requestId });
      }
      await this.wait(next, result.kind === 'response' ? `after ${result.status}` : `after: ${result.message}`, signal);
    }
  }

  /** Returns the longest wait that the call's limits still allow, in milliseconds. */
  private longestWaitMs({ deadline }: Call): number {
    const timeLeft = deadline - this.options.clock.now();
    return this.options.deadline === undefined ? Math.min(CALL_TIMEOUT_MS, timeLeft) : timeLeft;
  }

  private factsOf({ operation, wire }: Call, attempts: number): CallFacts {
    const { baseUrl, basePath, contract, options } = this;
    const { tokenOrigin, redact } = options;
    const { method, path } = wire;
    const pathname = path.replace(/\?.*/s, '');
    const name = `${method} ${pathname.startsWith(basePath) ? pathname.slice(basePath.length) : pathname}`;
    const url = baseUrl.slice(0, baseUrl.length - basePath.length) + path;
    return { operation, method, name, url, baseUrl, contract, tokenOrigin, redact, attempts };
  }

  private newRequestId(): string {
    // The counter keeps request ids unique within the process even if the random parts collide.
    this.requests += 1;
    const randomPart = Math.floor(this.options.random() * 2 ** 48);
    return `req-${randomPart.toString(16).padStart(12, '0')}-${this.requests}`;
  }

  /** Decides whether to make another attempt. A 429 pauses all calls. @returns the wait before it; why there is none */
  private decideNext(result: TransportResult, call: Call, attempt: number): number | End {
    const { clock, random, retries } = this.options;
    const now = clock.now();
    const retryAfterMs = result.kind === 'response' ? retryAfterOf(result.headers, now) : undefined;
    const decision = decideRetry(result, {
      safety: call.operation.safety,
      attempt,
      retries: call.options.retries ?? retries,
      retryAfterMs,
      timeLeftMs: this.longestWaitMs(call),
      random: random(),
    });
    if (result.kind === 'response' && result.status === 429) {
      const pauseMs = decision.retry ? decision.delayMs : (retryAfterMs ?? 0);
      this.pausedUntil = Math.max(this.pausedUntil, now + pauseMs);
    }
    if (decision.retry) return decision.delayMs;
    const retryAt = retryAfterMs === undefined ? undefined : now + retryAfterMs;
    return { isOutOfTime: decision.why === 'deadline', retryAt };
  }

  /** Waits out the pause that a 429 to any call imposes on all calls. */
  private async waitForRateLimit(call: Call): Promise<void> {
    const { clock } = this.options;
    for (let now = clock.now(); this.pausedUntil > now; now = clock.now()) {
      if (this.pausedUntil - now > this.longestWaitMs(call)) {
        const retryAt = new Date(this.pausedUntil).toISOString();
        throw new RateLimitError('The rate limit of the service is reached (429).', {
          status: 429,
          retryAt,
          hint: `Run the command again after ${retryAt}, or allow more time with --timeout.`,
        });
      }
      await this.wait(this.pausedUntil - now, 'for the rate limit', call.options.signal);
    }
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

  private toError(result: TransportResult, call: Call, facts: Omit<FailedCall, 'timeoutMs'>): PartnerctlError {
    const { deadline, timeoutMs } = this.options;
    const failed: FailedCall = { ...facts, timeoutMs: call.deadline === deadline ? timeoutMs : undefined };
    if (result.kind === 'response') return responseError(result, failed);
    if (!(result.cause instanceof SendRefused)) return networkError(result, failed);
    return new NotSentError('The request was not sent: its time limit had passed.', {
      details: { operation: call.operation.name },
      cause: result.cause,
    });
  }
}

/** A 2xx sent before the body was received does not mean success. */
function isSuccess({ status, sent }: HttpResponse): boolean {
  return status >= 200 && status < 300 && sent !== 'part';
}
