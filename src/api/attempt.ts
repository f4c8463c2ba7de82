import { InterruptedError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import type { Call } from './call.ts';
import { BodyInFlight } from './streamed-body.ts';
import { type HttpRequest, TimeLimitReached, type Transport, type TransportResult, toFailure } from './transport.ts';

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

export interface AttemptDeps {
  readonly transport: Transport;
  readonly clock: Clock;
  /** Aborted by the first Ctrl-C. */
  readonly interrupt: AbortSignal;
  readonly trace: (event: TraceEvent) => void;
  readonly token: string | undefined;
  readonly userAgent: string;
}

/** The time limit of one attempt. Each chunk of a streamed body that the connection accepts restarts it. */
export const ATTEMPT_TIMEOUT_MS = 120_000;

const IDLE_MS = 30_000;

/** How long a `once` call in flight may continue after Ctrl-C. */
const INTERRUPT_GRACE_MS = 5_000;

/**
 * Sends one request under the call's deadline, Ctrl-C, and the caller's own signal. A fully sent `once` request gets five
 * more seconds after Ctrl-C, and its result is returned.
 * @param attempt from 1
 * @throws InterruptedError, or the reason of the caller's signal. For a `once` call, either proves that nothing was done
 */
export async function runAttempt(
  deps: AttemptDeps,
  call: Call,
  requestId: string,
  attempt: number,
): Promise<TransportResult> {
  const { transport, clock, interrupt, trace } = deps;
  const { options, url, deadline } = call;
  const { safety } = call.operation;
  const signal = safety === 'safe' ? options.signal : undefined;
  if (interrupt.aborted) throw new InterruptedError('Interrupted.');
  signal?.throwIfAborted();
  // A request sent after the deadline could be carried out before the timer fires.
  if (deadline <= clock.now()) return toFailure(new TimeLimitReached(), 'nothing');

  const control = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const restartTimer = (): void => {
    clearTimeout(timer);
    const limitMs = Math.min(ATTEMPT_TIMEOUT_MS, Math.max(0, deadline - clock.now()));
    // A chunk that is accepted after the end may start it again.
    timer = setTimeout(() => control.abort(new TimeLimitReached()), limitMs).unref();
  };
  restartTimer();
  const stream = options.body && new BodyInFlight(options.body, restartTimer);
  let grace: AbortController | undefined;
  const onInterrupt = () => {
    const abort = (): void => control.abort(new InterruptedError('Interrupted.'));
    if (safety !== 'once' || stream?.sent === 'part') return abort();
    trace({ kind: 'wait', ms: INTERRUPT_GRACE_MS, why: 'for the response; Ctrl-C again stops' });
    grace = new AbortController();
    clock.sleep(INTERRUPT_GRACE_MS, grace.signal).then(abort, () => undefined);
  };
  const onCancel = (): void => control.abort(signal?.reason);
  interrupt.addEventListener('abort', onInterrupt, { once: true });
  signal?.addEventListener('abort', onCancel, { once: true });

  const request = toHttpRequest(deps, call, { requestId, stream, signal: control.signal });
  const started = clock.now();
  trace({ kind: 'request', attempt, request, url });
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

function toHttpRequest(
  { token, userAgent }: AttemptDeps,
  { operation: { leaf, safety }, wire, options }: Call,
  attempt: Pick<HttpRequest, 'requestId' | 'signal'> & { readonly stream: BodyInFlight | undefined },
): HttpRequest {
  const { stream, requestId, signal } = attempt;
  const { method, path, text } = wire;
  const { body, maySend, idleMs = IDLE_MS } = options;
  const headers: Record<string, string> = {
    accept: 'application/json',
    // Without it, a proxy may take any encoding for welcome.
    'accept-encoding': 'identity',
    'user-agent': userAgent,
    'x-request-id': requestId,
  };
  if (token !== undefined) headers.authorization = `Bearer ${token}`;
  if (text !== undefined) headers['content-type'] = 'application/json';
  if (body) Object.assign(headers, { 'content-type': body.contentType, 'content-length': String(body.bytes) });
  return {
    ...{ requestId, signal, method, path, maySend },
    body: stream ?? text,
    // A kept-alive connection may close while a request is sent. A space can be looked up then; jobs and files would be unknown.
    freshConnection: safety === 'once' && leaf !== 'spaces.provision',
    headersTimeoutMs: safety === 'safe' ? idleMs : ATTEMPT_TIMEOUT_MS,
    bodyTimeoutMs: idleMs,
    headers: Object.assign(headers, wire.headers),
  };
}
