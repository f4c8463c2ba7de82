import type { Operation, RawOperation } from '../contract/operations.ts';
import type { WireRequest } from '../contract/request.ts';
import { ATTEMPT_TIMEOUT_MS } from './attempt.ts';
import type { StreamedBody } from './streamed-body.ts';
import type { HttpRequest } from './transport.ts';

/** A request of an operation, or one that a user typed. */
export type SentRequest = (WireRequest & { readonly headers?: undefined }) | RawOperation['request'];

/** What a call sends. */
export interface RequestContent {
  readonly operation: Operation | RawOperation;
  readonly wire: SentRequest;
  readonly options: {
    /** A body to send instead of `wire.json`. */
    readonly body?: StreamedBody;
    readonly freshConnection?: boolean;
  };
}

const READ_HEADERS_TIMEOUT_MS = 30_000;

/** Builds the request for one attempt of a call, with the headers that every request has (spec §4). */
export function buildHttpRequest(
  { operation, wire, options }: RequestContent,
  { token, userAgent }: { readonly token: string; readonly userAgent: string },
  { requestId, timeLeftMs }: { readonly requestId: string; readonly timeLeftMs: number },
): Omit<HttpRequest, 'signal'> {
  const body = textOf(wire);
  const headersTimeoutMs = Math.min(ATTEMPT_TIMEOUT_MS, Math.max(0, timeLeftMs)) + 1000;
  return {
    method: wire.method,
    path: wire.path,
    requestId,
    body,
    ...(operation.leaf === undefined && { keepBytes: true }),
    freshConnection: operation.safety === 'once' || options.freshConnection === true,
    headersTimeoutMs:
      operation.safety === 'safe' ? Math.min(READ_HEADERS_TIMEOUT_MS, headersTimeoutMs) : headersTimeoutMs,
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'application/json',
      'user-agent': userAgent,
      'x-request-id': requestId,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(options.body && { 'content-type': options.body.contentType, 'content-length': String(options.body.bytes) }),
      ...wire.headers,
    },
  };
}

function textOf(wire: SentRequest): string | undefined {
  if ('text' in wire) return wire.text;
  return 'json' in wire && wire.json !== undefined ? JSON.stringify(wire.json) : undefined;
}
