import { InterruptedError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import type { Call } from './call.ts';
import { BodyInFlight } from './streamed-body.ts';
import type { HttpRequest, Transport, TransportResult } from './transport.ts';
import { abortedFailure, TimeLimitReached } from './transport-failure.ts';

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

/** The time limit of one attempt. Each chunk of a streamed body that the connection accepts restarts it. */
export const ATTEMPT_TIMEOUT_MS = 120_000;

/** How long a `once` call in flight may continue after Ctrl-C. */
const INTERRUPT_GRACE_MS = 5_000;

/**
 * Sends one request under the call's deadline, Ctrl-C, and the caller's own signal. A fully sent `once` request gets five
 * more seconds after Ctrl-C, and its result is returned.
 * @param number from 1
 * @throws InterruptedError, or the reason of the caller's signal. For a `once` call, either proves that nothing was done
 */
export async function runAttempt(
  { transport, clock, interrupt, trace }: AttemptDeps,
  { operation: { safety }, options, url, deadline }: Call,
  prepared: Omit<HttpRequest, 'signal'>,
  number: number,
): Promise<TransportResult> {
  const signal = safety === 'safe' ? options.signal : undefined;
  if (interrupt.aborted) throw new InterruptedError('Interrupted.');
  signal?.throwIfAborted();
  // A request sent after the deadline could be carried out before the timer fires.
  if (deadline <= clock.now()) return abortedFailure(AbortSignal.abort(new TimeLimitReached()), 'nothing');

  const control = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const restartTimer = (): void => {
    clearTimeout(timer);
    const limitMs = Math.min(ATTEMPT_TIMEOUT_MS, Math.max(0, deadline - clock.now()));
    // A chunk that is accepted after the end may start it again.
    timer = setTimeout(() => control.abort(new TimeLimitReached()), limitMs).unref();
  };
  restartTimer();
  const body = options.body ? new BodyInFlight(options.body, restartTimer) : prepared.body;
  let grace: AbortController | undefined;
  const onInterrupt = (): void => {
    const abort = (): void => control.abort(new InterruptedError('Interrupted.'));
    const isIncomplete = body instanceof BodyInFlight && body.sent !== 'all';
    if (safety !== 'once' || isIncomplete) {
      abort();
      return;
    }
    trace({ kind: 'wait', ms: INTERRUPT_GRACE_MS, why: 'at most for the response; Ctrl-C again stops at once' });
    grace = new AbortController();
    clock.sleep(INTERRUPT_GRACE_MS, grace.signal).then(abort, () => undefined);
  };
  const onCancel = (): void => control.abort(signal?.reason);
  interrupt.addEventListener('abort', onInterrupt, { once: true });
  signal?.addEventListener('abort', onCancel, { once: true });

  const request: HttpRequest = { ...prepared, body, signal: control.signal };
  const started = clock.now();
  trace({ kind: 'request', attempt: number, request, url });
  try {
    const result = await transport.send(request);
    trace({ kind: 'result', request, url, result, ms: clock.now() - started });
    const isUndecided = safety === 'once' && result.sent === 'all';
    if (result.kind === 'failure' && interrupt.aborted && !isUndecided) throw new InterruptedError('Interrupted.');
    signal?.throwIfAborted();
    return result;
  } finally {
    clearTimeout(timer);
    interrupt.removeEventListener('abort', onInterrupt);
    signal?.removeEventListener('abort', onCancel);
    grace?.abort();
  }
}
