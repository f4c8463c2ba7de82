import type { Operation } from '../contract/operations.ts';
import type { WireRequest } from '../contract/requests.ts';
import { ATTEMPT_TIMEOUT_MS } from './attempt.ts';
import type { StreamedBody } from './streamed-body.ts';
import type { HttpRequest } from './transport.ts';

/** What a call sends. */
export interface RequestContent {
  readonly operation: Operation;
  readonly wire: WireRequest;
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
  const body = wire.json === undefined ? undefined : JSON.stringify(wire.json);
  const headersTimeoutMs = Math.min(ATTEMPT_TIMEOUT_MS, Math.max(0, timeLeftMs)) + 1000;
  return {
    method: wire.method,
    path: wire.path,
    requestId,
    body,
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
    },
  };
}
