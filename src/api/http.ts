import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { Contract } from '../contract/contract.ts';
import type { Operation, RawOperation } from '../contract/operations.ts';
import { InterruptedError, LocalError, type PartnerctlError, RateLimitError } from '../errors.ts';
import { ApiResponse } from './api-response.ts';
import { ATTEMPT_TIMEOUT_MS, type AttemptDeps, runAttempt } from './attempt.ts';
import { type Call, type CallOptions, type TokenOrigin, toWire } from './call.ts';
import { type CallEnd, networkError, responseError } from './call-errors.ts';
import { decideRetry, retryAfterOf } from './retry.ts';
import { SendRefused, type TransportResult } from './transport.ts';

export interface HttpOptions extends AttemptDeps {
  readonly baseUrl: string;
  readonly tokenOrigin?: TokenOrigin | undefined;
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
  readonly onWarning?: ((text: string) => void) | undefined;
}

export type Outcome =
  | { readonly response: ApiResponse; readonly error?: undefined }
  | { readonly response: ApiResponse | undefined; readonly error: PartnerctlError };

/** The time limit of a call without a deadline, including waits and retries. Also limits each single wait. */
const CALL_TIMEOUT_MS = ATTEMPT_TIMEOUT_MS;

/** The HTTP client: authentication, deadlines, the one retry loop, and the pause after a 429. */
export class Http {
  readonly baseUrl: string;
  /** The path of the base URL, usually `/v1`. */
  readonly basePath: string;
  readonly contract: Contract;
  private readonly options: HttpOptions;
  private pausedUntil = 0;
  private readonly warned = new Set<string>();

  constructor(options: HttpOptions) {
    this.options = options;
    this.contract = options.contract ?? new Contract();
    this.baseUrl = options.baseUrl;
    this.basePath = new URL(options.baseUrl).pathname.replace(/\/$/, '');
    // Every call in flight adds a listener. By default, Node warns of a leak after ten.
    setMaxListeners(0, options.interrupt);
  }

  /**
   * Calls an operation, and retries it until it succeeds or may not be retried.
   * @throws PartnerctlError by the status; LocalError if `maySend` forbids it. A `once` call throws OutcomeUnknownError
   * if the service may have processed it; every other class proves that it did nothing
   */
  async call(operation: Operation | RawOperation, options: CallOptions = {}): Promise<ApiResponse> {
    const { response, error } = await this.exchange(operation, options);
    if (error) throw error;
    return response;
  }

  /** Calls as `call`, and also returns the response that ends it with an error. @throws if nothing was sent */
  async exchange(operation: Operation | RawOperation, options: CallOptions = {}): Promise<Outcome> {
    const call = this.prepare(operation, options);
    for (let attempts = 1; ; attempts += 1) {
      await this.waitForRateLimit(call);
      const requestId = `req-${randomUUID()}`;
      const result = await runAttempt(this.options, call, requestId, attempts);
      const response = result.kind === 'response' ? new ApiResponse(result, call, requestId) : undefined;
      if (response && isSuccess(result)) return { response };
      const next = this.decideNext(result, call, attempts);
      if (typeof next !== 'number') return { response, error: this.toError(result, call, { ...next, requestId }) };
      const why = result.kind === 'response' ? `after ${result.status}` : `after: ${result.message}`;
      await this.wait(next, why, options.signal);
    }
  }

  warn(text: string): void {
    if (!this.warned.has(text)) this.options.onWarning?.(text);
    this.warned.add(text);
  }

  /** Returns how long a call that starts now may take, in milliseconds. */
  remainingMs(): number {
    const { clock, deadline } = this.options;
    return deadline === undefined ? CALL_TIMEOUT_MS : deadline - clock.now();
  }

  private prepare(operation: Operation | RawOperation, options: CallOptions): Call {
    const { baseUrl, basePath, contract } = this;
    const { clock, deadline, tokenOrigin, redact } = this.options;
    const { body, timeoutMs = Number.POSITIVE_INFINITY } = options;
    const wire = toWire(operation, options, this);
    const [pathname = ''] = wire.path.split('?', 1);
    const now = clock.now();
    // A streamed body may take any time while it makes progress.
    const ofCall = body === undefined ? now + CALL_TIMEOUT_MS : Number.POSITIVE_INFINITY;
    return {
      operation,
      options,
      wire,
      name: `${wire.method} ${pathname.startsWith(basePath) ? pathname.slice(basePath.length) : pathname}`,
      url: baseUrl.slice(0, baseUrl.length - basePath.length) + wire.path,
      deadline: Math.min(deadline ?? ofCall, now + timeoutMs),
      baseUrl,
      contract,
      tokenOrigin,
      redact,
    };
  }

  private longestWaitMs({ deadline }: Call): number {
    return Math.min(deadline - this.options.clock.now(), this.remainingMs());
  }

  /** Decides whether to make another attempt. A 429 pauses all calls. @returns the wait before it; why there is none */
  private decideNext(result: TransportResult, call: Call, attempts: number): number | Omit<CallEnd, 'requestId'> {
    const { clock, random, retries, deadline, timeoutMs } = this.options;
    const now = clock.now();
    const retryAfterMs = result.kind === 'response' ? retryAfterOf(result.headers, now) : undefined;
    const decision = decideRetry(result, {
      safety: call.operation.safety,
      attempt: attempts,
      retries: call.options.retries ?? retries,
      retryAfterMs,
      timeLeftMs: this.longestWaitMs(call),
      random: random(),
    });
    if (result.kind === 'response' && result.status === 429) {
      // Without the jitter of one call, which would make all wake at its end.
      const pauseMs = retryAfterMs ?? (typeof decision === 'number' ? decision : 0);
      this.pausedUntil = Math.max(this.pausedUntil, now + pauseMs);
    }
    if (typeof decision === 'number') return decision;
    return {
      attempts,
      isOutOfTime: decision === 'out of time',
      timeoutMs: call.deadline === deadline ? timeoutMs : undefined,
      retryAt: retryAfterMs === undefined ? undefined : new Date(now + retryAfterMs).toISOString(),
    };
  }

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

  private toError(result: TransportResult, call: Call, end: CallEnd): PartnerctlError {
    if (result.kind === 'response') return responseError(result, call, end);
    if (!(result.cause instanceof SendRefused)) return networkError(result, call, end);
    return new LocalError('The request was not sent: its time limit had passed.', {
      details: { operation: call.operation.name },
      cause: result.cause,
    });
  }
}

/** A 2xx sent before the body was received does not mean success. */
function isSuccess(result: TransportResult): boolean {
  return result.kind === 'response' && result.status >= 200 && result.status < 300 && result.sent !== 'part';
}
