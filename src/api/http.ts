import { setMaxListeners } from 'node:events';
import { Contract } from '../contract/contract.ts';
import type { Operation, RawOperation } from '../contract/operations.ts';
import { buildRequest, NoOperation } from '../contract/request.ts';
import { readSlashRedirect, withTrailingSlash } from '../contract/slash-redirect.ts';
import { InterruptedError, NoOperationError, type PartnerctlError, UsageError } from '../errors.ts';
import { ApiResponse } from './api-response.ts';
import { ATTEMPT_TIMEOUT_MS, runAttempt } from './attempt.ts';
import type { CallContext } from './call-errors.ts';
import type { CallOptions, HttpOptions } from './http-options.ts';
import { buildHttpRequest, type RequestContent, type SentRequest } from './http-request.ts';
import { decideRetry, RetryBudget, toOutcome } from './retry.ts';
import type { HttpResponse, TransportResult } from './transport.ts';

/** One call, including all of its attempts. */
interface Call extends RequestContent {
  readonly options: CallOptions;
  /** Milliseconds since the epoch. */
  readonly deadline: number;
}

/** What follows a failed attempt: another attempt, or the end of the call. */
type NextStep =
  | { readonly retry: true; readonly delayMs: number }
  | ({ readonly retry: false } & Pick<CallContext, 'isOutOfTime' | 'retryAt'>);

/** The time limit of a call without a deadline, including waits and retries. Also limits each single wait. */
const CALL_TIMEOUT_MS = ATTEMPT_TIMEOUT_MS;
const RATE_LIMIT_SPREAD_MS = 1_000;

/** The synthetic response for a call that is never sent because another call received a 429. */
const RATE_LIMITED: HttpResponse = {
  kind: 'response',
  status: 429,
  headers: {},
  body: '',
  isGarbled: false,
  sent: 'part',
};

/**
 * The HTTP client: authentication, deadlines, the one retry loop, the pause after a 429, and errors that say what
 * happened.
 */
export class Http {
  readonly baseUrl: string;
  /** The path of the base URL, usually `/v1`. */
  readonly basePath: string;
  /** The service's wire format. */
  readonly contract: Contract;
  private readonly options: HttpOptions;
  private readonly budget = new RetryBudget();
  private pausedUntil = 0;
  private requests = 0;
  private successes = 0;

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
   * @throws PartnerctlError, as a subclass for credentials, balance, not found, rate limit, service, refused, or
   * interrupted. A `once` call throws OutcomeUnknownError if the service may have processed it, which includes an
   * unreadable response; every other class proves that the service did nothing
   */
  async call(operation: Operation | RawOperation, options: CallOptions = {}): Promise<ApiResponse> {
    return await this.callAt(this.wireRequest(operation, options), operation, options);
  }

  /** Makes a call at an address, from which a read follows one redirect to the path with or without a trailing slash. */
  private async callAt(
    wire: SentRequest,
    operation: Operation | RawOperation,
    options: CallOptions,
    isRedirected = false,
  ): Promise<ApiResponse> {
    const { path } = wire;
    const call: Call = { operation, options, wire, deadline: this.deadlineOf(options) };
    const url = new URL(this.baseUrl).origin + path;
    const { safety } = operation;
    for (let attempt = 1; ; attempt += 1) {
      await this.waitForRateLimit(call, attempt);
      const timeLeftMs = call.deadline - this.options.clock.now();
      const request = buildHttpRequest(call, this.options, { requestId: this.newRequestId(), timeLeftMs });
      const { body: stream, signal } = options;
      const limits = { safety, deadline: call.deadline, signal };
      const result = await runAttempt(this.options, { number: attempt, url, request, stream, ...limits });
      const { requestId } = request;
      if (result.kind === 'response' && isSuccess(result)) {
        this.budget.giveBack();
        this.successes += 1;
        const request = {
          operation,
          path,
          url,
          requestId,
          attempts: attempt,
          contract: this.contract,
        };
        return new ApiResponse(result, request, this.options.redact);
      }
      const slash = result.kind === 'response' && safety === 'safe' ? readSlashRedirect(result, url) : undefined;
      if (slash !== undefined && operation.leaf !== undefined && !isRedirected) {
        return await this.callAt({ ...wire, path: withTrailingSlash(path, slash) }, operation, options, true);
      }
      const next = this.decideNext(result, call, attempt);
      if (!next.retry && result.kind === 'response') options.onRefusal?.(result);
      if (!next.retry) throw await this.toError(result, call, { requestId, attempts: attempt, ...next });
      await this.wait(
        next.delayMs,
        result.kind === 'response' ? `after ${result.status}` : `after: ${result.message}`,
        signal,
      );
    }
  }

  /** How many calls of this process have succeeded. */
  get successCount(): number {
    return this.successes;
  }

  /** Warns the user. */
  warn(text: string): void {
    this.options.onWarning?.(text);
  }

  /** Returns a client for the same service with another contract. */
  withContract(contract: Contract): Http {
    return new Http({ ...this.options, contract });
  }

  /** Returns how long a call that starts now may take, in milliseconds. */
  remainingMs(): number {
    const { clock, deadline } = this.options;
    return deadline === undefined ? CALL_TIMEOUT_MS : deadline - clock.now();
  }

  private deadlineOf({ body, timeoutMs = Number.POSITIVE_INFINITY }: CallOptions): number {
    const { clock, deadline } = this.options;
    const now = clock.now();
    const ofCall = body === undefined ? now + CALL_TIMEOUT_MS : Number.POSITIVE_INFINITY;
    return Math.min(deadline ?? ofCall, now + timeoutMs);
  }

  /** Returns the longest wait that the call's limits still allow, in milliseconds. */
  private longestWaitMs({ deadline }: Call): number {
    const timeLeft = deadline - this.options.clock.now();
    return this.options.deadline === undefined ? Math.min(CALL_TIMEOUT_MS, timeLeft) : timeLeft;
  }

  /** @throws UsageError for a value that cannot be in a path; NoOperationError */
  private wireRequest(operation: Operation | RawOperation, options: CallOptions): SentRequest {
    if (operation.leaf === undefined) return operation.request;
    try {
      const wire = buildRequest(this.contract, operation.leaf, options.values);
      const json = options.more ? { ...wire.json, ...options.more } : wire.json;
      return { ...wire, json, path: options.link ?? this.basePath + wire.path };
    } catch (error) {
      if (error instanceof RangeError) throw new UsageError(error.message);
      if (!(error instanceof NoOperation)) throw error;
      throw new NoOperationError(error.message, {
        hint: `If it has, run: partnerctl contract unset ${operation.leaf}`,
        details: { operation: operation.name, leaf: operation.leaf },
      });
    }
  }

  private newRequestId(): string {
    // The counter keeps request ids unique within the process even if the random parts collide.
    this.requests += 1;
    const randomPart = Math.floor(this.options.random() * 2 ** 48)
      .toString(16)
      .padStart(12, '0');
    return `req-${randomPart}-${this.requests}`;
  }

  /** Decides whether to make another attempt. A 429 pauses all calls and does not use the retry budget. */
  private decideNext(result: TransportResult, call: Call, attempt: number): NextStep {
    const { clock, random } = this.options;
    const outcome = toOutcome(result, clock.now());
    const decision = decideRetry({
      safety: call.operation.safety,
      attempt,
      retries: call.options.retries ?? this.options.retries,
      outcome,
      timeLeftMs: this.longestWaitMs(call),
      random: random(),
    });
    const now = clock.now();
    const minimumMs = outcome.kind === 'response' ? outcome.retryAfterMs : undefined;
    const retryAt = minimumMs === undefined ? undefined : now + minimumMs;
    const isRateLimited = outcome.kind === 'response' && outcome.status === 429;
    if (isRateLimited) {
      const pauseMs = decision.retry ? decision.delayMs : (minimumMs ?? 0);
      this.pausedUntil = Math.max(this.pausedUntil, now + pauseMs);
    }
    if (!decision.retry) return { retry: false, isOutOfTime: decision.why === 'deadline', retryAt };
    if (!isRateLimited && !this.budget.take()) return { retry: false, isOutOfTime: false, retryAt };
    return decision;
  }

  /** Waits out the pause that a 429 to any call imposes on all calls. */
  private async waitForRateLimit(call: Call, attempt: number): Promise<void> {
    const { clock, random } = this.options;
    for (let now = clock.now(); this.pausedUntil > now; now = clock.now()) {
      if (this.pausedUntil - now > this.longestWaitMs(call)) {
        const end = { requestId: undefined, attempts: attempt - 1, isOutOfTime: true, retryAt: this.pausedUntil };
        throw await this.toError(RATE_LIMITED, call, end);
      }
      // Calls that were paused together must not all resume in the same millisecond.
      const spreadMs = Math.min(RATE_LIMIT_SPREAD_MS * random(), call.deadline - this.pausedUntil);
      await this.wait(this.pausedUntil - now + spreadMs, 'for the rate limit', call.options.signal);
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

  private async toError(
    result: TransportResult,
    call: Call,
    end: Pick<CallContext, 'requestId' | 'attempts' | 'isOutOfTime' | 'retryAt'>,
  ): Promise<PartnerctlError> {
    const { networkError, responseError } = await import('./call-errors.ts');
    const { baseUrl, tokenOrigin, deadline, timeoutMs, redact } = this.options;
    const isLimitedByFlag = call.deadline === deadline;
    const context: CallContext = {
      ...end,
      operation: call.operation,
      request: { operation: call.operation.leaf, method: call.wire.method, contract: this.contract },
      path: call.wire.path,
      baseUrl,
      tokenOrigin,
      timeoutMs: isLimitedByFlag ? timeoutMs : undefined,
    };
    if (result.kind === 'failure') return networkError(result, context);
    // Redact before quoting: a truncated secret would not be recognized.
    return responseError({ ...result, body: redact(result.body) }, context);
  }
}

/** A 2xx sent before the body was received does not mean success. */
function isSuccess({ status, sent }: HttpResponse): boolean {
  return status >= 200 && status < 300 && sent !== 'part';
}
