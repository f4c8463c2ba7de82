import type { Dispatcher } from 'undici';
import type { HttpMethod } from '../contract/operations.ts';
import { errorCode } from '../errors.ts';
import type { HttpsProxy } from './dispatcher.ts';
import { decodeText, UnreadableBody, unpackBody } from './response-body.ts';
import { type ResponseHead, ResponseReader } from './response-reader.ts';
import type { SingleUse } from './single-use.ts';
import { BodyInFlight } from './streamed-body.ts';

/** One HTTP request, ready to send. */
export interface HttpRequest {
  readonly method: HttpMethod;
  /** Path and query, on the transport's origin. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | BodyInFlight | undefined;
  /** Also in the x-request-id header. */
  readonly requestId: string;
  /** Whether to open a new connection: the service may close a kept-alive one while the request is being sent. */
  readonly freshConnection: boolean;
  readonly headersTimeoutMs: number;
  /** The limit of the response's body; 64 MiB by default. */
  readonly maxBodyBytes?: number;
  /** Whether the response also has its undecoded body. */
  readonly keepBytes?: boolean;
  readonly signal: AbortSignal;
}

export interface HttpResponse {
  readonly kind: 'response';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Whether the body has characters in place of bytes that could not be decoded. */
  readonly isGarbled: boolean;
  /** The undecoded body, if the request has `keepBytes` and the body could be read. */
  readonly bytes?: Uint8Array | undefined;
  /**
   * How much of the request may have been sent when the response arrived; `content` is everything except the bytes that
   * close a form. Unless this is `all`, the service cannot have acted on the request.
   */
  readonly sent: 'part' | 'content' | 'all';
}

export interface TransportFailure {
  readonly kind: 'failure';
  /** How much of the request may have been sent. Unless this is `all`, the service cannot have acted on it. */
  readonly sent: 'nothing' | 'part' | 'all';
  /** False if a retry cannot help, as with an untrusted certificate. */
  readonly isTransient: boolean;
  /** What went wrong, as a phrase. */
  readonly message: string;
  /** An error code from the system, undici, or this tool. */
  readonly code: string | undefined;
  /** The status, if the response's headers arrived but its body did not. */
  readonly status: number | undefined;
  readonly cause: unknown;
}

export type TransportResult = HttpResponse | TransportFailure;

/** The abort reason of a request that timed out. */
export class TimeLimitReached extends Error {}

const BODY_TIMEOUT_MS = 30_000;
/** Replaces a body that could not be read. Not '', which would pass for a response that has no body. */
const UNREADABLE_BODY = 'The rest of the response could not be read.';

/** Sends requests to one origin, tracks whether each may have left this machine, and never follows redirects. */
export class Transport {
  private readonly origin: string;
  private readonly proxy: HttpsProxy | undefined;
  /** Keeps its connections open between requests. */
  private shared: Promise<Dispatcher> | undefined;
  private singleUse: Promise<SingleUse> | undefined;
  /** The reason for closing the connection of a single request. Without it, undici creates an error with a stack for each. */
  private readonly over = new Error('the request is over');

  /** @param options.origin scheme, host, and port */
  constructor({ origin, proxy }: { readonly origin: string; readonly proxy: HttpsProxy | undefined }) {
    this.origin = origin;
    this.proxy = proxy;
  }

  /**
   * Makes one attempt. An aborted request results in a failure with the signal's reason as its cause.
   * @throws only errors from the source of a streamed body
   */
  async send(request: HttpRequest): Promise<TransportResult> {
    if (!request.freshConnection) {
      this.shared ??= this.openShared();
      return await this.exchange(request, await this.shared);
    }
    this.singleUse ??= this.openSingleUse();
    const singleUse = await this.singleUse;
    const dispatcher = singleUse.open();
    try {
      return await this.exchange(request, dispatcher);
    } finally {
      void singleUse.end(dispatcher, this.over);
    }
  }

  async close(): Promise<void> {
    await (await this.shared)?.destroy();
    await (await this.singleUse)?.close();
  }

  private async openShared(): Promise<Dispatcher> {
    const { createDispatcher } = await import('./dispatcher.ts');
    return createDispatcher(this.origin, this.proxy);
  }

  private async openSingleUse(): Promise<SingleUse> {
    const { createSingleUse } = await import('./dispatcher.ts');
    return createSingleUse(this.origin, this.proxy);
  }

  private async exchange(request: HttpRequest, dispatcher: Dispatcher): Promise<TransportResult> {
    const { body, signal } = request;
    const stream = body instanceof BodyInFlight ? body : undefined;
    let sent: HttpResponse['sent'] = 'all';
    let isAccepted = false;
    const reader = new ResponseReader(({ status }) => {
      sent = stream?.sent ?? 'all';
      isAccepted = status < 300 && sent !== 'part';
      // Ending an accepted body early would close the connection before the id in the response arrives. Ending any other
      // at once would, too, before the body that came along with the headers is read.
      if (!isAccepted) queueMicrotask(() => stream?.end());
    }, request.maxBodyBytes);
    const cancel = (): void => reader.cancel(signal.reason);
    signal.addEventListener('abort', cancel, { once: true });
    try {
      if (signal.aborted) cancel();
      else dispatcher.dispatch(this.dispatchOptions(request), reader);
      const response = await readResponse(reader, request);
      return { kind: 'response', sent, ...response };
    } catch (error) {
      if (stream?.failure !== undefined) throw stream.failure;
      const status = reader.head?.status;
      const mayHaveAll = stream ? stream.sent === 'all' || isAccepted : reader.hasLeft;
      const left = mayHaveAll ? 'all' : reader.hasLeft ? 'part' : 'nothing';
      return signal.aborted ? abortedFailure(signal, left, status) : failure(error, left, status);
    } finally {
      stream?.end();
      signal.removeEventListener('abort', cancel);
    }
  }

  private dispatchOptions(request: HttpRequest): Dispatcher.DispatchOptions {
    const { method, path, headers, body, headersTimeoutMs } = request;
    return {
      origin: this.origin,
      path,
      method,
      headers,
      // @ts-expect-error undici accepts any async iterable, but its types do not say so.
      body: body instanceof BodyInFlight ? body.chunks() : (body ?? null),
      headersTimeout: headersTimeoutMs,
      bodyTimeout: BODY_TIMEOUT_MS,
    };
  }
}

/** Waits for the rest of the response. @throws what ended the exchange */
async function readResponse(reader: ResponseReader, { maxBodyBytes, keepBytes }: HttpRequest) {
  let raw: Buffer | undefined;
  try {
    raw = await reader.body;
  } catch (error) {
    if (!isUnsuccessful(reader.head)) throw error;
  }
  const { head } = reader;
  if (!head) throw new Error('A response ended before it began.');
  const unpacking = raw && unpackBody(raw, head.headers['content-encoding'], maxBodyBytes);
  const bytes = await (isUnsuccessful(head) ? unpacking?.catch(() => undefined) : unpacking);
  const { text, isGarbled } = bytes
    ? decodeText(bytes, head.headers['content-type'])
    : { text: UNREADABLE_BODY, isGarbled: true };
  return { ...head, body: text, isGarbled, ...(keepBytes && { bytes }) };
}

/** For an unsuccessful response, the status is enough if the body is truncated, stalls, or cannot be read. */
function isUnsuccessful(head: ResponseHead | undefined): boolean {
  return head !== undefined && head.status >= 300;
}

const LATE_MESSAGES = {
  nothing: 'nothing could be sent in time',
  part: 'the rest of the request could not be sent in time',
  all: 'no complete response came in time',
} as const;

/** Returns the failure of an aborted request, including one aborted before it was sent. */
export function abortedFailure(
  { reason }: AbortSignal,
  sent: TransportFailure['sent'],
  status?: number,
): TransportFailure {
  const message = reason instanceof TimeLimitReached ? LATE_MESSAGES[sent] : 'canceled';
  return { kind: 'failure', sent, isTransient: true, message, code: undefined, status, cause: reason };
}

/** Failures of certificates, handshakes, and proxies that no retry can fix. */
const PERMANENT_CODE =
  /^(PROXY_REFUSED|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_TLS|ERR_SSL|EPROTO|HOSTNAME_MISMATCH)/;

/** Extracts the reason from an OpenSSL message, which also contains source locations. */
const OPENSSL_REASON = /^[0-9A-F]*:?error:[0-9A-F]+:[^:]*:[^:]*:([^:]+):/;

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was closed while the request was sent',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name could not be looked up',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'the connection timed out',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the service does not speak TLS on this port',
  UND_ERR_CONNECT_TIMEOUT: 'the connection could not be made in time',
  UND_ERR_HEADERS_TIMEOUT: 'no response came in time',
  UND_ERR_BODY_TIMEOUT: 'the response stopped before its end',
  UND_ERR_SOCKET: 'the connection was closed before the response was complete',
};

function failure(thrown: unknown, sent: TransportFailure['sent'], status: number | undefined): TransportFailure {
  // Node tries every address of a host and throws one AggregateError; the first error is enough.
  const cause = thrown instanceof AggregateError && thrown.errors.length > 0 ? thrown.errors[0] : thrown;
  const code = codeOf(cause) ?? codeOf(thrown);
  const text = cause instanceof Error ? cause.message : String(cause);
  const message = (code !== undefined && DESCRIPTIONS[code]) || (OPENSSL_REASON.exec(text)?.[1] ?? text);
  const isTransient = !(cause instanceof UnreadableBody) && !(code !== undefined && PERMANENT_CODE.test(code));
  return { kind: 'failure', sent, isTransient, message, code, status, cause };
}

function codeOf(error: unknown): string | undefined {
  const code = errorCode(error);
  return typeof code === 'string' ? code : undefined;
}
