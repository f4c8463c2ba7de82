import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { HttpMethod } from '../contract/operations.ts';
import { errorCode, errorMessage } from '../platform/error-code.ts';
import { decodeBody } from './encoded-body.ts';
import { BodyInFlight } from './streamed-body.ts';
import type { HttpsProxy } from './undici.ts';

export interface HttpRequest {
  readonly method: HttpMethod;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | BodyInFlight | undefined;
  readonly requestId: string;
  /** Whether to open a new connection: a kept-alive one may be closed while the request is sent. */
  readonly freshConnection: boolean;
  /** Asked in the tick that writes the request, after the connection stands. If it returns false, nothing is sent. */
  readonly maySend?: (() => boolean) | undefined;
  readonly headersTimeoutMs: number;
  /** How long the service may pause within its response. */
  readonly bodyTimeoutMs: number;
  readonly signal: AbortSignal;
}

export interface HttpResponse {
  readonly kind: 'response';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body as text, with U+FFFD in place of bytes that are not UTF-8. */
  readonly body: string;
  /** The same body as bytes. Empty if the body of an unsuccessful response could not be read. */
  readonly bytes: Uint8Array;
  /** How much of the request may have been sent before the response. Unless it is all, the service cannot have acted on it. */
  readonly sent: 'part' | 'all';
}

export interface TransportFailure {
  readonly kind: 'failure';
  /** As for a response. */
  readonly sent: 'nothing' | 'part' | 'all';
  /** False if a retry cannot help, as with an untrusted certificate. */
  readonly isTransient: boolean;
  readonly message: string;
  readonly code: string | undefined;
  /** The status, if the response's headers arrived but its body did not. */
  readonly status: number | undefined;
  readonly cause: unknown;
}

export type TransportResult = HttpResponse | TransportFailure;

/** Sends requests to one origin, tracks whether each may have left this machine, and never follows redirects. */
export class Transport {
  private readonly origin: string;
  private readonly proxy: HttpsProxy | undefined;
  private open: (() => Dispatcher) | undefined;
  private shared: Dispatcher | undefined;

  constructor({ origin, proxy }: { readonly origin: string; readonly proxy: HttpsProxy | undefined }) {
    this.origin = origin;
    this.proxy = proxy;
  }

  /** Makes one attempt. An abort is a failure with its reason as the cause. @throws only errors of a body's source */
  async send(request: HttpRequest): Promise<TransportResult> {
    if (!this.open) {
      // Not every command needs undici.
      const { dispatcherOpener } = await import('./undici.ts');
      this.open ??= dispatcherOpener(this.origin, this.proxy);
    }
    if (!request.freshConnection) {
      this.shared ??= this.open();
      return await this.exchange(request, this.shared);
    }
    const dispatcher = this.open();
    try {
      return await this.exchange(request, dispatcher);
    } finally {
      void dispatcher.destroy();
    }
  }

  async close(): Promise<void> {
    await this.shared?.destroy();
  }

  private async exchange(request: HttpRequest, dispatcher: Dispatcher): Promise<TransportResult> {
    const { method, path, headers, body, headersTimeoutMs, bodyTimeoutMs, signal } = request;
    const stream = body instanceof BodyInFlight ? body : undefined;
    const reader = new ResponseReader(request, stream);
    const cancel = (): void => reader.cancel(signal.reason);
    // The signal is that of this attempt alone.
    signal.addEventListener('abort', cancel, { once: true });
    const options: Dispatcher.DispatchOptions = {
      ...{ origin: this.origin, path, method, headers },
      ...{ headersTimeout: headersTimeoutMs, bodyTimeout: bodyTimeoutMs },
      // @ts-expect-error undici accepts any async iterable, but its types do not say so.
      body: stream?.chunks() ?? body ?? null,
    };
    try {
      if (signal.aborted) cancel();
      else dispatcher.dispatch(options, reader);
      return { kind: 'response', ...(await readResponse(reader)) };
    } catch (error) {
      if (stream?.failure !== undefined) throw stream.failure;
      const left = reader.hasLeft ? (stream?.sent ?? 'all') : 'nothing';
      return toFailure(error, left, reader.head?.status);
    } finally {
      stream?.end();
    }
  }
}

type Controller = Dispatcher.DispatchController;

type ResponseHead = Pick<HttpResponse, 'status' | 'headers' | 'sent'>;

const UTF_8 = new TextDecoder();

/** Replaces a body that could not be read. Not '', which would pass for a response that has no body. */
const UNREADABLE_BODY = 'The rest of the response could not be read.';

/** Reads the response to one request, and tells whether the request may have left. */
class ResponseReader implements Dispatcher.DispatchHandler {
  hasLeft = false;
  head: ResponseHead | undefined;
  /** The whole body. Rejects with what ended the exchange. */
  readonly body: Promise<Buffer>;
  private readonly request: HttpRequest;
  private readonly stream: BodyInFlight | undefined;
  private readonly chunks: Buffer[] = [];
  private controller: Controller | undefined;
  private complete: (body: Buffer) => void = () => undefined;
  private fail: (error: unknown) => void = () => undefined;

  constructor(request: HttpRequest, stream: BodyInFlight | undefined) {
    this.request = request;
    this.stream = stream;
    this.body = new Promise((resolve, reject) => {
      this.complete = resolve;
      this.fail = reject;
    });
  }

  /** Ends the exchange at once: undici itself does nothing about a request until it is connected. */
  cancel(reason: Error): void {
    this.fail(reason);
    this.controller?.abort(reason);
  }

  /** undici calls this in the tick that writes the request, and writes nothing after an abort. */
  onRequestStart(controller: Controller): void {
    const { signal, maySend } = this.request;
    this.controller = controller;
    if (signal.aborted) controller.abort(signal.reason);
    else if (maySend?.() === false) this.cancel(new SendRefused());
    else this.hasLeft = true;
  }

  onResponseStart(_controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    // Informational responses come before it.
    if (status < 200) return;
    const sent = this.stream?.sent ?? 'all';
    this.head = { status, headers: flattenHeaders(headers), sent };
    // Ending an accepted body early would close the connection before the id in the response arrives. Ending any other at
    // once would, too, before the body that came along with the headers is read.
    if (status >= 300 || sent === 'part') queueMicrotask(() => this.stream?.end());
  }

  onResponseData(_controller: Controller, chunk: Buffer): void {
    this.chunks.push(chunk);
  }

  onResponseEnd(): void {
    const [first, ...others] = this.chunks;
    this.complete(first && others.length === 0 ? first : Buffer.concat(this.chunks));
  }

  onResponseError(_controller: Controller, error: Error): void {
    this.fail(error);
  }
}

/** Waits for the whole response. Of an unsuccessful one, the status is enough. @throws what ended the exchange */
async function readResponse(reader: ResponseReader): Promise<Omit<HttpResponse, 'kind'>> {
  try {
    const body = await reader.body;
    if (!reader.head) throw new Error('A response ended before it began.');
    const bytes = await decodeBody(body, reader.head.headers['content-encoding']);
    return { ...reader.head, bytes, body: UTF_8.decode(bytes) };
  } catch (error) {
    const { head } = reader;
    if (head === undefined || head.status < 300) throw error;
    return { ...head, bytes: Buffer.alloc(0), body: UNREADABLE_BODY };
  }
}

function flattenHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const entries = Object.entries(headers);
  return Object.fromEntries(
    entries.map(([name, value = '']) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );
}

export class TimeLimitReached extends Error {
  override readonly message = 'no complete response came in time';
}

export class SendRefused extends Error {
  override readonly message = 'the request was not sent';
}

/** Failures that no retry can fix: of certificates, handshakes, and proxies, and a body that is too large or encoded. */
const PERMANENT_CODE =
  /^(UND_ERR_RES_EXCEEDED|ERR_BUFFER_TOO_LARGE|UNKNOWN_ENCODING|PROXY_REFUSED|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_TLS|ERR_SSL|EPROTO|HOSTNAME_MISMATCH)/;

/** Extracts the reason from an OpenSSL message, which also contains source locations. */
const OPENSSL_REASON = /^[0-9A-F]*:?error:[0-9A-F]+:[^:]*:[^:]*:([^:]+):/;

const CUT = 'the response stopped before its end';
const TOO_LARGE = 'the response is larger than 64 MiB';

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name could not be looked up',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the service does not speak TLS on this port',
  UND_ERR_CONNECT_TIMEOUT: 'the connection could not be made in time',
  UND_ERR_HEADERS_TIMEOUT: 'no response came in time',
  ERR_BUFFER_TOO_LARGE: TOO_LARGE,
  UND_ERR_BODY_TIMEOUT: CUT,
  UND_ERR_RES_EXCEEDED_MAX_SIZE: TOO_LARGE,
  UND_ERR_SOCKET: 'the connection was closed before the response was complete',
  Z_BUF_ERROR: CUT,
  Z_DATA_ERROR: 'the response is not in the encoding that it names',
};

/** Returns the failure for what ended an exchange. */
export function toFailure(thrown: unknown, sent: TransportFailure['sent'], status?: number): TransportFailure {
  // Node tries every address of a host and throws one AggregateError; the first error is enough.
  const cause: unknown = thrown instanceof AggregateError && thrown.errors.length > 0 ? thrown.errors[0] : thrown;
  const found = errorCode(cause);
  const code = typeof found === 'string' ? found : undefined;
  const text = errorMessage(cause);
  const message = DESCRIPTIONS[code ?? ''] ?? OPENSSL_REASON.exec(text)?.[1] ?? text;
  const isPermanent = cause instanceof SendRefused || PERMANENT_CODE.test(code ?? '');
  return { kind: 'failure', sent, isTransient: !isPermanent, message, code, status, cause };
}
