import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { HttpRequest, HttpResponse } from './transport.ts';
import { BodyTooLarge, SendRefused } from './transport-failure.ts';

type Controller = Dispatcher.DispatchController;

/** The status and the headers of a response. */
type ResponseHead = Pick<HttpResponse, 'status' | 'headers'>;

/** The limit of a body. */
const MAX_RESPONSE_MIB = 64;

/** Drops a byte order mark. */
const UTF_8 = new TextDecoder();

/** Replaces a body that could not be read. Not '', which would pass for a response that has no body. */
const UNREADABLE_BODY = 'The rest of the response could not be read.';

/** Reads the response to one request, and tells whether the request may have left. */
export class ResponseReader implements Dispatcher.DispatchHandler {
  /** Whether a part of the request may have left this machine. */
  hasLeft = false;
  /** Undefined until the response begins. */
  head: ResponseHead | undefined;
  /** The whole body. Rejects with what ended the exchange. */
  readonly body: Promise<Buffer>;
  private readonly maySend: HttpRequest['maySend'];
  private readonly onHead: (head: ResponseHead) => void;
  private readonly chunks: Buffer[] = [];
  private size = 0;
  private controller: Controller | undefined;
  private canceled: { readonly reason: Error } | undefined;
  private complete: (body: Buffer) => void = () => undefined;
  private fail: (error: unknown) => void = () => undefined;

  constructor(maySend: HttpRequest['maySend'], onHead: (head: ResponseHead) => void) {
    this.maySend = maySend;
    this.onHead = onHead;
    this.body = new Promise((resolve, reject) => {
      this.complete = resolve;
      this.fail = reject;
    });
  }

  /** Ends the exchange at once: undici itself does nothing about a request until it is connected. */
  cancel(reason: Error): void {
    this.canceled ??= { reason };
    this.fail(reason);
    this.controller?.abort(reason);
  }

  /** undici calls this in the tick that writes the request, and writes nothing after an abort. */
  onRequestStart(controller: Controller): void {
    this.controller = controller;
    if (this.canceled) controller.abort(this.canceled.reason);
    else if (this.maySend?.() === false) this.cancel(new SendRefused('the request was not sent'));
    else this.hasLeft = true;
  }

  onResponseStart(_controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    const isInformational = status < 200;
    if (isInformational) return;
    this.head = { status, headers: flattenHeaders(headers) };
    this.onHead(this.head);
  }

  onResponseData(_controller: Controller, chunk: Buffer): void {
    this.size += chunk.length;
    if (this.size > MAX_RESPONSE_MIB * 1024 * 1024) this.cancel(new BodyTooLarge(MAX_RESPONSE_MIB));
    else this.chunks.push(chunk);
  }

  onResponseEnd(): void {
    const [first, ...others] = this.chunks;
    this.complete(first && others.length === 0 ? first : Buffer.concat(this.chunks, this.size));
  }

  onResponseError(_controller: Controller, error: Error): void {
    this.fail(error);
  }
}

/** Waits for the whole response. Of an unsuccessful one, the status is enough. @throws what ended the exchange */
export async function readResponse(
  reader: ResponseReader,
): Promise<ResponseHead & Pick<HttpResponse, 'body' | 'bytes'>> {
  try {
    const bytes = await reader.body;
    if (!reader.head) throw new Error('A response ended before it began.');
    return { ...reader.head, bytes, body: UTF_8.decode(bytes) };
  } catch (error) {
    const { head } = reader;
    if (head === undefined || head.status < 300) throw error;
    return { ...head, bytes: Buffer.alloc(0), body: UNREADABLE_BODY };
  }
}

function flattenHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return flat;
}
