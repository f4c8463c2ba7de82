import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { BodyInFlight } from './streamed-body.ts';
import type { Dispatcher } from './undici.ts';

/** One HTTP request, ready to go. */
export interface HttpRequest {
  readonly method: string;
  /** Path and query, on the transport's origin. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | BodyInFlight | undefined;
  /** Also stands in the headers; by it the transport recognises what has left. */
  readonly requestId: string;
  /** Whether to use a connection that nothing else has used: a kept-alive one may be reset under the request. */
  readonly freshConnection: boolean;
  readonly headersTimeoutMs: number;
  readonly signal: AbortSignal;
}

export type TransportResult =
  | {
      readonly kind: 'response';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
      /** Whether the answer came before all of the request was sent, so that nothing can have been done with it. */
      readonly early: boolean;
      /** Whether it came before all that matters of it was sent, so that it cannot be about it. */
      readonly premature: boolean;
    }
  | {
      readonly kind: 'failure';
      /** Whether any of the request may have left this machine. */
      readonly began: boolean;
      /** Whether the service may have the request: any of it, or, where the body is streamed, all of it. */
      readonly left: boolean;
      readonly transient: boolean;
      /** What went wrong, in words. */
      readonly message: string;
      /** The system's or undici's code, where there is one. */
      readonly code: string | undefined;
      /** The status, where the headers of an answer came and its body did not. */
      readonly status: number | undefined;
      readonly cause: unknown;
    };

export interface Transport {
  /** Makes one attempt. Rejects only with the signal's own reason. */
  send(attempt: HttpRequest): Promise<TransportResult>;
  close(): Promise<void>;
}

export interface TransportOptions {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly proxy: { readonly url: string; readonly noProxy: string } | undefined;
}

const CONNECT_TIMEOUT_MS = 10_000;
const BODY_TIMEOUT_MS = 30_000;
const MAX_BODY_BYTES = 64 * 1024 * 1024;

/** An answer that a repeat would only bring again. */
class UnreadableBody extends Error {
  readonly code: 'BODY_TOO_LARGE' | 'BODY_ENCODING';

  constructor(code: UnreadableBody['code'], message: string) {
    super(message);
    this.code = code;
  }
}

function tooLarge(): UnreadableBody {
  return new UnreadableBody('BODY_TOO_LARGE', `the answer is larger than ${MAX_BODY_BYTES / 1024 / 1024} MiB`);
}

/** Failures of certificates, handshakes and proxies that no repeat can mend. */
const LASTING_CODE =
  /^(PROXY_REFUSED|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_TLS|ERR_SSL|EPROTO|HOSTNAME_MISMATCH)/;

/** What OpenSSL says holds addresses of its own source; the reason is one part of it. */
const OPENSSL = /^[0-9A-F]*:?error:[0-9A-F]+:[^:]*:[^:]*:([^:]+):/;

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was closed while sending',
  ENOTFOUND: 'the host name is not known',
  EAI_AGAIN: 'the host name could not be looked up',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'the connection timed out',
  ERR_SSL_WRONG_VERSION_NUMBER: 'no TLS is spoken there',
  UND_ERR_CONNECT_TIMEOUT: 'the connection could not be made in time',
  UND_ERR_HEADERS_TIMEOUT: 'no answer came in time',
  UND_ERR_BODY_TIMEOUT: 'the answer stopped half-way',
  UND_ERR_SOCKET: 'the connection was closed before the answer was complete',
};

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** Node tries every address of a host and throws one error for all; the first says enough. */
function firstCause(error: unknown): unknown {
  return error instanceof AggregateError && error.errors.length > 0 ? error.errors[0] : error;
}

/** How much of a request may have left, and the status of its answer, where that began. */
type Progress = Pick<Extract<TransportResult, { kind: 'failure' }>, 'began' | 'left' | 'status'>;

function failure(thrown: unknown, progress: Progress): Extract<TransportResult, { kind: 'failure' }> {
  const cause = firstCause(thrown);
  const code = codeOf(cause) ?? codeOf(thrown);
  const said = cause instanceof Error ? cause.message : String(cause);
  const message = (code !== undefined && WORDS[code]) || (OPENSSL.exec(said)?.[1] ?? said);
  const transient = !(cause instanceof UnreadableBody) && !(code !== undefined && LASTING_CODE.test(code));
  return { kind: 'failure', ...progress, transient, message, code, cause };
}

function flatten(headers: Dispatcher.ResponseData['headers']): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return flat;
}

async function readBody(response: Dispatcher.ResponseData, encoding: string | undefined): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  const bytes = Buffer.concat(chunks, size);
  const plain = encoding === undefined || encoding === 'identity' || size === 0 ? bytes : await decode(bytes, encoding);
  // Unlike Buffer's own, this decoder leaves a byte order mark out.
  return new TextDecoder().decode(plain);
}

/** The body of a refusal. Its status says enough where the body is cut, stalls, or cannot be read. */
async function readRefusal(response: Dispatcher.ResponseData, encoding: string | undefined): Promise<string> {
  try {
    return await readBody(response, encoding);
  } catch {
    return '';
  }
}

/** Nothing but identity is asked for; some gateways compress all the same. */
async function decode(bytes: Buffer, encoding: string): Promise<Buffer> {
  const { brotliDecompressSync, gunzipSync, inflateSync } = await import('node:zlib');
  const decoders = new Map([
    ['gzip', gunzipSync],
    ['x-gzip', gunzipSync],
    ['deflate', inflateSync],
    ['br', brotliDecompressSync],
  ]);
  const unpack = decoders.get(encoding.toLowerCase());
  if (!unpack) {
    throw new UnreadableBody('BODY_ENCODING', `the answer is in the encoding ${encoding}, which was not asked for`);
  }
  try {
    return unpack(bytes, { maxOutputLength: MAX_BODY_BYTES });
  } catch (error) {
    throw codeOf(error) === 'ERR_BUFFER_TOO_LARGE' ? tooLarge() : error;
  }
}

/** The promise, unless the signal is aborted first: undici heeds a signal only once the connection stands. */
async function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  let onAbort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
  });
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/**
 * A transport to one origin. It knows of every request whether it may have left this machine, and it never follows a
 * redirect.
 */
export function createTransport({ origin, proxy }: TransportOptions): Transport {
  const underWay = new Map<string, () => void>();
  const connect = { timeout: CONNECT_TIMEOUT_MS };
  let shared: Promise<Dispatcher> | undefined;

  // Error codes cannot tell a reset at accept from one after sending; this channel can. A proxy's CONNECT has no request id.
  function onSendHeaders(message: unknown): void {
    const headers =
      typeof message === 'object' && message !== null && 'headers' in message ? String(message.headers) : '';
    const requestId = /^x-request-id: (.*)$/im.exec(headers)?.[1]?.trim();
    if (requestId !== undefined) underWay.get(requestId)?.();
  }
  subscribe('undici:client:sendHeaders', onSendHeaders);

  async function createDispatcher(): Promise<Dispatcher> {
    const { createAgent, createProxyAgent } = await import('./undici.ts');
    if (proxy) return createProxyAgent({ httpsProxy: proxy.url, noProxy: proxy.noProxy, connect });
    return createAgent(connect);
  }

  /** What undici made of one attempt, in our terms. */
  function failureOf(error: unknown, { signal, body }: HttpRequest, progress: Progress): TransportResult {
    if (body instanceof BodyInFlight && body.failure !== undefined) throw body.failure;
    if (!signal.aborted) {
      const reply = failure(error, progress);
      // What could not be reached may be the proxy.
      return proxy && !progress.began ? { ...reply, message: `${reply.message} (HTTPS_PROXY is set)` } : reply;
    }
    if (!progress.left) throw signal.reason;
    return failure(signal.reason, progress);
  }

  async function exchange(attempt: HttpRequest, dispatcher: Dispatcher): Promise<TransportResult> {
    const { dispatchRequest } = await import('./undici.ts');
    const stream = attempt.body instanceof BodyInFlight ? attempt.body : undefined;
    let began = false;
    underWay.set(attempt.requestId, () => {
      began = true;
      if (stream) stream.hasBegun = true;
    });
    let status: number | undefined;
    let isAccepted = false;
    try {
      const answering = dispatchRequest(dispatcher, {
        origin,
        path: attempt.path,
        method: attempt.method as Dispatcher.HttpMethod,
        headers: attempt.headers,
        body: attempt.body instanceof BodyInFlight ? attempt.body.chunks() : (attempt.body ?? null),
        headersTimeout: attempt.headersTimeoutMs,
        bodyTimeout: BODY_TIMEOUT_MS,
        signal: attempt.signal,
      });
      const response = await unlessAborted(answering, attempt.signal);
      status = response.statusCode;
      const early = stream?.isComplete === false;
      const premature = stream?.hasContent === false;
      isAccepted = status < 300 && !premature;
      // To end the rest early would close the connection, and an answer that says what was made may still be on its way.
      if (!isAccepted) stream?.end();
      const headers = flatten(response.headers);
      const read = status < 300 ? readBody : readRefusal;
      return {
        kind: 'response',
        status,
        headers,
        body: await read(response, headers['content-encoding']),
        early,
        premature,
      };
    } catch (error) {
      return failureOf(error, attempt, { began, left: stream ? stream.isComplete || isAccepted : began, status });
    } finally {
      stream?.end();
      underWay.delete(attempt.requestId);
    }
  }

  return {
    async send(attempt) {
      if (!attempt.freshConnection) {
        shared ??= createDispatcher();
        return exchange(attempt, await shared);
      }
      const own = await createDispatcher();
      try {
        return await exchange(attempt, own);
      } finally {
        void own.destroy();
      }
    },
    async close() {
      unsubscribe('undici:client:sendHeaders', onSendHeaders);
      await (await shared)?.destroy();
    },
  };
}
