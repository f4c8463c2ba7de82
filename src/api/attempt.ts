import type { Clock } from '../clock.ts';
import type { Safety } from '../contract/operations.ts';
import { InterruptedError } from '../errors.ts';
import { BodyInFlight, type StreamedBody } from './streamed-body.ts';
import {
  abortedFailure,
  type HttpRequest,
  TimeLimitReached,
  type Transport,
  type TransportResult,
} from './transport.ts';

/** An event for an observer (-v, --debug, progress). Bodies and headers are not redacted. */
export type TraceEvent =
  | { readonly kind: 'request'; readonly attempt: number; readonly request: HttpRequest; readonly url: string }
  | {
      readonly kind: 'result';
      readonly request: HttpRequest;
      readonly url: string;
      readonly result: TransportResult;
      readonly ms: number;
    }
  | { readonly kind: 'wait'; readonly ms: number; readonly why: string };

/** What every attempt needs from the client. */
export interface AttemptDeps {
  readonly transport: Transport;
  readonly clock: Clock;
  /** Aborted by the first Ctrl-C. */
  readonly interrupt: AbortSignal;
  readonly trace: (event: TraceEvent) => void;
}

/** One attempt of a call. */
export interface Attempt {
  /** From 1. */
  readonly number: number;
  readonly url: string;
  readonly request: Omit<HttpRequest, 'signal'>;
  readonly stream: StreamedBody | undefined;
  readonly safety: Safety;
  /** The deadline of the call, in milliseconds since the epoch. */
  readonly deadline: number;
  /** The caller's own signal, which ends a `safe` call. */
  readonly signal: AbortSignal | undefined;
}

/** The time limit of one attempt. Each chunk of a streamed body that the connection accepts restarts it. */
export const ATTEMPT_TIMEOUT_MS = 120_000;

/** How long a `once` call in flight may continue after Ctrl-C. */
const INTERRUPT_GRACE_MS = 5_000;

/**
 * Sends one request under the call's deadline, Ctrl-C, and the caller's own signal.
 * @throws InterruptedError, or the reason of the caller's signal. For a `once` call, either proves that the service did
 * nothing: a fully sent `once` request gets five more seconds after Ctrl-C, and its result is returned instead
 */
export async function runAttempt(deps: AttemptDeps, attempt: Attempt): Promise<TransportResult> {
  const { transport, clock, interrupt, trace } = deps;
  const { safety, url, signal } = attempt;
  if (interrupt.aborted) throw new InterruptedError('Interrupted.');
  signal?.throwIfAborted();
  // A request sent after the deadline could be carried out before the timer fires.
  if (attempt.deadline <= clock.now()) return abortedFailure(AbortSignal.abort(new TimeLimitReached()), 'nothing');
  const abort = new AttemptAbort(deps, attempt);
  const body = attempt.stream ? new BodyInFlight(attempt.stream, () => abort.restartTimer()) : attempt.request.body;
  abort.watch(body);
  const request: HttpRequest = { ...attempt.request, body, signal: abort.signal };
  const started = clock.now();
  trace({ kind: 'request', attempt: attempt.number, request, url });
  try {
    const result = await transport.send(request);
    trace({ kind: 'result', request, url, result, ms: clock.now() - started });
    const isUndecided = safety === 'once' && result.sent === 'all';
    if (result.kind === 'failure' && interrupt.aborted && !isUndecided) throw new InterruptedError('Interrupted.');
    if (safety === 'safe') signal?.throwIfAborted();
    return result;
  } finally {
    abort.stop();
  }
}

/** Aborts an attempt when it times out, on Ctrl-C, or with the caller's signal. */
class AttemptAbort {
  private readonly deps: AttemptDeps;
  private readonly attempt: Attempt;
  private readonly control = new AbortController();
  private readonly onStop: (() => void)[] = [];
  private isOver = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(deps: AttemptDeps, attempt: Attempt) {
    this.deps = deps;
    this.attempt = attempt;
  }

  get signal(): AbortSignal {
    return this.control.signal;
  }

  watch(body: HttpRequest['body']): void {
    const { safety, signal } = this.attempt;
    this.restartTimer();
    this.onAbort(this.deps.interrupt, () => this.onInterrupt(body));
    if (safety === 'safe' && signal) this.onAbort(signal, () => this.control.abort(signal.reason));
  }

  restartTimer(): void {
    if (this.isOver) return;
    clearTimeout(this.timer);
    const timeLeft = Math.max(0, this.attempt.deadline - this.deps.clock.now());
    const expire = () => this.control.abort(new TimeLimitReached());
    this.timer = setTimeout(expire, Math.min(ATTEMPT_TIMEOUT_MS, timeLeft));
  }

  stop(): void {
    this.isOver = true;
    clearTimeout(this.timer);
    for (const act of this.onStop) act();
  }

  /** Listens to a signal until the attempt is over. */
  private onAbort(signal: AbortSignal, act: () => void): void {
    signal.addEventListener('abort', act, { once: true });
    this.onStop.push(() => signal.removeEventListener('abort', act));
  }

  private onInterrupt(body: HttpRequest['body']): void {
    const abort = (): void => this.control.abort(new InterruptedError('Interrupted.'));
    const isIncomplete = body instanceof BodyInFlight && body.sent !== 'all';
    if (this.attempt.safety !== 'once' || isIncomplete) {
      abort();
      return;
    }
    const why = 'at most for the response; Ctrl-C again stops at once';
    this.deps.trace({ kind: 'wait', ms: INTERRUPT_GRACE_MS, why });
    const over = new AbortController();
    this.onStop.push(() => over.abort());
    this.deps.clock.sleep(INTERRUPT_GRACE_MS, over.signal).then(abort, () => undefined);
  }
}
