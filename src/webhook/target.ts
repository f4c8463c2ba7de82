import type { Dispatcher } from 'undici';
import type { Clock } from '../clock.ts';
import { isLoopback } from '../config/base-url.ts';
import type { ProxySettings } from '../config/proxy.ts';
import { errorCode, UsageError } from '../errors.ts';
import type { Delivery } from './delivery.ts';
import { forwardedHeaders } from './headers.ts';
import type { ReceiverAnswer } from './receiver.ts';

/** The outcome of sending a delivery to the target once. */
export type SendResult =
  | { readonly kind: 'answered'; readonly answer: ReceiverAnswer }
  /** The target may or may not have received it. */
  | { readonly kind: 'failed'; readonly reason: string; readonly isTimeout: boolean };

const TIMEOUT_MS = 30_000;
const MAX_ANSWER_BYTES = 1024 * 1024;

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
  const cause = error instanceof AggregateError ? error.errors[0] : error;
  return cause === error ? (error instanceof Error ? error.message : String(error)) : describeFailure(cause);
}

/** Reads the body of an answer. Ignores one that cannot be read or is too long, because the status decides. */
async function readBody(response: Dispatcher.ResponseData): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response.body) {
      size += chunk.length;
      if (size > MAX_ANSWER_BYTES) return Buffer.alloc(0);
      chunks.push(chunk);
    }
  } catch {
    return Buffer.alloc(0);
  }
  return Buffer.concat(chunks);
}

interface SendOptions {
  /** Cancels it. */
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
   * @param onStatus called as soon as the status of the answer is known
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
      const answerHeaders = typeof type === 'string' ? { 'content-type': type } : {};
      const answer = { status: response.statusCode, headers: answerHeaders, body: await readBody(response) };
      return { kind: 'answered', answer };
    } catch (error) {
      const isTimeout = limit.signal.aborted;
      return { kind: 'failed', reason: isTimeout ? 'it did not answer in time' : describeFailure(error), isTimeout };
    } finally {
      done.abort();
    }
  }

  async close(): Promise<void> {
    await (await this.dispatcher)?.destroy();
  }

  private async openDispatcher(): Promise<Dispatcher> {
    const { createDispatcher } = await import('../api/dispatcher.ts');
    return createDispatcher(this.url.origin, this.proxy);
  }
}

/** Whether a status says that the target took a delivery: any 2xx. */
export function isTakenBy(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Whether the answer says that the target took a delivery. */
export function isTaken(result: SendResult): result is SendResult & { kind: 'answered' } {
  return result.kind === 'answered' && isTakenBy(result.answer.status);
}

/** Describes why the target did not take a delivery, as a clause without a period. */
export function describeRefusal(result: SendResult): string {
  return result.kind === 'failed' ? result.reason : `it answered ${result.answer.status}`;
}
