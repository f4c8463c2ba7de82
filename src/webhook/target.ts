import type { Dispatcher } from 'undici';
import type { Clock } from '../clock.ts';
import { isLoopback } from '../config/base-url.ts';
import type { ProxySettings } from '../config/proxy.ts';
import { errorCode, UsageError } from '../errors.ts';
import type { Delivery } from './delivery.ts';
import { forwardedHeaders } from './headers.ts';
import type { ReceiverResponse } from './receiver.ts';

/** The outcome of sending a delivery to the target once. */
export type SendResult =
  | { readonly kind: 'responded'; readonly response: ReceiverResponse }
  /** The target may or may not have received it. */
  | { readonly kind: 'failed'; readonly reason: string; readonly isTimeout: boolean };

const TIMEOUT_MS = 30_000;
const TIMEOUT_REASON = `it did not respond within ${TIMEOUT_MS / 1_000} seconds`;
const MAX_RESPONSE_BYTES = 1024 * 1024;

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
  url.hash = '';
  return url;
}

function describeFailure(error: unknown): string {
  const code = errorCode(error);
  if (code === 'ECONNREFUSED') return 'it refused the connection';
  if (code === 'ECONNRESET' || code === 'UND_ERR_SOCKET') return 'it closed the connection';
  if (code === 'ENOTFOUND') return 'its host name is unknown';
  if (error instanceof AggregateError) return describeFailure(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}

/** Reads the body of a response. Empty if it cannot be read or is too long: only the status matters. */
async function readBody(response: Dispatcher.ResponseData): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response.body) {
      size += chunk.length;
      if (size > MAX_RESPONSE_BYTES) return Buffer.alloc(0);
      chunks.push(chunk);
    }
  } catch {
    return Buffer.alloc(0);
  }
  return Buffer.concat(chunks);
}

interface SendOptions {
  /** Cancels the request. */
  readonly signal: AbortSignal;
  readonly onStatus?: (status: number) => void;
}

/** The program that deliveries are forwarded to. */
export class Target {
  readonly url: URL;
  private readonly proxy: ProxySettings | undefined;
  private readonly clock: Clock;
  private dispatcher: Promise<Dispatcher> | undefined;

  constructor(url: URL, proxy: ProxySettings | undefined, clock: Clock) {
    this.url = url;
    this.proxy = proxy;
    this.clock = clock;
  }

  /**
   * Sends a delivery: its exact bytes, and its headers except those of the connection. Does not follow redirects.
   * @param onStatus called as soon as the response has a status
   */
  async send(
    { headers, body }: Pick<Delivery, 'headers' | 'body'>,
    { signal, onStatus }: SendOptions,
  ): Promise<SendResult> {
    this.dispatcher ??= this.openDispatcher();
    const limit = new AbortController();
    const done = new AbortController();
    const ended = AbortSignal.any([limit.signal, signal]);
    this.clock.sleep(TIMEOUT_MS, done.signal).then(
      () => limit.abort(),
      () => undefined,
    );
    try {
      const dispatcher = await this.dispatcher;
      const response = await dispatcher.request({
        origin: this.url.origin,
        path: this.url.pathname + this.url.search,
        method: 'POST',
        headers: forwardedHeaders(headers).flat(),
        body,
        signal: ended,
      });
      onStatus?.(response.statusCode);
      const type = response.headers['content-type'];
      const relayedHeaders = typeof type === 'string' ? { 'content-type': type } : {};
      return {
        kind: 'responded',
        response: { status: response.statusCode, headers: relayedHeaders, body: await readBody(response) },
      };
    } catch (error) {
      const isTimeout = limit.signal.aborted;
      return { kind: 'failed', reason: isTimeout ? TIMEOUT_REASON : describeFailure(error), isTimeout };
    } finally {
      done.abort();
    }
  }

  async close(): Promise<void> {
    await (await this.dispatcher)?.destroy();
  }

  private async openDispatcher(): Promise<Dispatcher> {
    const { dispatcherOpener } = await import('../api/dispatcher.ts');
    return dispatcherOpener(this.url.origin, this.proxy)();
  }
}

/** Whether a status means that the target accepted the delivery: any 2xx. */
export function isAcceptedStatus(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Whether the target accepted the delivery. */
export function isAccepted(result: SendResult): result is SendResult & { kind: 'responded' } {
  return result.kind === 'responded' && isAcceptedStatus(result.response.status);
}

/** Describes why the target did not accept a delivery, as a clause without a period. */
export function describeRefusal(result: SendResult): string {
  return result.kind === 'failed' ? result.reason : `it responded with ${result.response.status}`;
}
