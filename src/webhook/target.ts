import { isLoopback } from '../config/base-url.ts';
import type { ProxySettings } from '../config/proxy.ts';
import { UsageError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { errorCode, errorMessage } from '../platform/error-code.ts';
import { type Delivery, forwardedHeaders } from './delivery.ts';

/** The outcome of sending a delivery to the target once. */
export type SendResult =
  | { readonly kind: 'responded'; readonly status: number }
  /** The target may or may not have received it. */
  | { readonly kind: 'failed'; readonly reason: string; readonly isTimeout: boolean };

/** The program that deliveries are forwarded to. */
export interface Target {
  /** Sends a delivery once: its exact bytes, and its headers except those of the connection. Does not follow redirects. */
  send(delivery: Pick<Delivery, 'headers' | 'body'>, signal: AbortSignal): Promise<SendResult>;
  close(): Promise<void>;
}

const TIMEOUT_MS = 30_000;

/**
 * Parses `--forward-to`.
 * @throws UsageError unless it is an https URL, or http on this machine, without credentials
 */
export function parseTarget(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new UsageError(`--forward-to is not a URL: ${JSON.stringify(text)}.`, {
      hint: 'Use a URL such as http://localhost:3000/webhooks',
    });
  }
  if (url.username !== '' || url.password !== '') {
    throw new UsageError('--forward-to contains credentials.', { hint: 'Remove them: other users can read flags.' });
  }
  if (url.protocol === 'http:' && !isLoopback(url)) {
    throw new UsageError(`--forward-to uses plain http: ${url.origin}`, {
      why: 'The deliveries would travel unencrypted. Plain http works only for this machine.',
      hint: `Use https://${url.host}${url.pathname}`,
    });
  }
  return url;
}

function describeFailure(error: unknown): string {
  const code = errorCode(error);
  if (code === 'ECONNREFUSED') return 'it refused the connection';
  if (code === 'ECONNRESET' || code === 'UND_ERR_SOCKET') return 'it closed the connection';
  if (code === 'ENOTFOUND') return 'its host name is unknown';
  if (error instanceof AggregateError) return describeFailure(error.errors[0]);
  return errorMessage(error);
}

/** Opens the target at a URL. */
export async function openTarget(url: URL, proxy: ProxySettings | undefined, clock: Clock): Promise<Target> {
  const { dispatcherOpener } = await import('../api/undici.ts');
  const dispatcher = await dispatcherOpener(url.origin, proxy)();

  async function send({ headers, body }: Pick<Delivery, 'headers' | 'body'>, signal: AbortSignal): Promise<SendResult> {
    const limit = new AbortController();
    const done = new AbortController();
    clock.sleep(TIMEOUT_MS, done.signal).then(
      () => limit.abort(),
      () => undefined,
    );
    try {
      const { statusCode: status, body: response } = await dispatcher.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: 'POST',
        headers: forwardedHeaders(headers).flat(),
        body,
        signal: AbortSignal.any([limit.signal, signal]),
      });
      // Only the status matters.
      await response.dump().catch(() => undefined);
      return { kind: 'responded', status };
    } catch (error) {
      const isTimeout = limit.signal.aborted;
      const reason = isTimeout ? `it did not respond within ${TIMEOUT_MS / 1_000} seconds` : describeFailure(error);
      return { kind: 'failed', reason, isTimeout };
    } finally {
      done.abort();
    }
  }
  return { send, close: () => dispatcher.destroy() };
}

/** Whether the target accepted the delivery: any 2xx. */
export function isAccepted(result: SendResult): boolean {
  return result.kind === 'responded' && result.status >= 200 && result.status < 300;
}

/** Describes why the target did not accept a delivery, as a clause without a period. */
export function describeRefusal(result: SendResult): string {
  return result.kind === 'failed' ? result.reason : `it responded with ${result.status}`;
}
