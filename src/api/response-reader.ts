import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { MAX_RESPONSE_BYTES, tooLargeError } from './response-body.ts';

type Controller = Dispatcher.DispatchController;

/** The status and the headers of a response. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

function flattenHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return flat;
}

/** Reads the response to one request, and tells whether the request may have left. */
export class ResponseReader implements Dispatcher.DispatchHandler {
  /** Whether a part of the request may have left this machine: undici says so before it writes the first byte. */
  hasLeft = false;
  /** Undefined until the response begins. */
  head: ResponseHead | undefined;
  /** The whole body. Rejects with what ended the exchange. */
  readonly body: Promise<Buffer>;
  private readonly maxBytes: number;
  private readonly onHead: (head: ResponseHead) => void;
  private readonly chunks: Buffer[] = [];
  private size = 0;
  private controller: Controller | undefined;
  private canceled: { readonly reason: Error } | undefined;
  private complete: (body: Buffer) => void = () => undefined;
  private fail: (error: unknown) => void = () => undefined;

  /** @param maxBytes the limit of the body; 64 MiB by default */
  constructor(onHead: (head: ResponseHead) => void, maxBytes = MAX_RESPONSE_BYTES) {
    this.onHead = onHead;
    this.maxBytes = maxBytes;
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

  onRequestStart(controller: Controller): void {
    this.controller = controller;
    if (this.canceled) controller.abort(this.canceled.reason);
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
    if (this.size > this.maxBytes) this.cancel(tooLargeError(this.maxBytes));
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
