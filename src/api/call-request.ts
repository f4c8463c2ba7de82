import { Contract } from '../contract/contract.ts';
import type { JsonObject } from '../contract/json.ts';
import type { Operation, RawOperation } from '../contract/operations.ts';
import { buildRequest, NoOperation, type RequestValues, type WireRequest } from '../contract/request.ts';
import { NoOperationError, UsageError } from '../errors.ts';
import { ATTEMPT_TIMEOUT_MS } from './attempt.ts';
import type { StreamedBody } from './streamed-body.ts';
import type { HttpRequest, HttpResponse } from './transport.ts';

/** What a call may be given besides its operation. */
export interface CallOptions {
  /** Ignored with `link`, save for what goes into a body. */
  readonly values?: RequestValues;
  /** The link to another page: path and query, starting with the base path. Replaces the operation's own path. */
  readonly link?: string;
  /** What a body has besides the values: the token of a page. */
  readonly more?: JsonObject;
  /** A body to send instead of JSON. While the connection accepts chunks, only the command's deadline applies. */
  readonly body?: StreamedBody;
  /** The number of retries, in place of the configured one. */
  readonly retries?: number;
  /** The time limit of this call with its waits and retries. The command's deadline still applies. */
  readonly timeoutMs?: number;
  /** Asked in the tick that writes a request, after its connection stands. False: the call throws `NotSentError`. */
  readonly maySend?: () => boolean;
  /** Called with the response that ends the call with an error. */
  readonly onRefusal?: (response: HttpResponse) => void;
  /** Cancels a `safe` call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** A request of an operation, or one that a user typed. */
export type SentRequest = (WireRequest & { readonly headers?: undefined }) | RawOperation['request'];

/** One call, including all of its attempts. */
export interface Call {
  readonly operation: Operation | RawOperation;
  readonly wire: SentRequest;
  readonly options: CallOptions;
  /** Milliseconds since the epoch. */
  readonly deadline: number;
}

const READ_HEADERS_TIMEOUT_MS = 30_000;

/** Returns what a call sends. @throws UsageError for a value that cannot be in a path; NoOperationError */
export function toWire(
  operation: Operation | RawOperation,
  { values, more, link }: CallOptions,
  { contract, basePath }: { readonly contract: Contract; readonly basePath: string },
): SentRequest {
  if (operation.leaf === undefined) return { ...operation.request, path: link ?? operation.request.path };
  try {
    const wire = buildRequest(contract, operation.leaf, values);
    const json = more ? { ...wire.json, ...more } : wire.json;
    return { ...wire, json, path: link ?? basePath + wire.path };
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(error.message);
    if (!(error instanceof NoOperation)) throw error;
    throw new NoOperationError(error.message, {
      hint: `If it has, run: partnerctl contract set ${operation.leaf} '${new Contract().leaf(operation.leaf).value}'`,
      details: { operation: operation.name, leaf: operation.leaf },
    });
  }
}

/** Builds the request for one attempt of a call, with the headers that every request has (spec §4). */
export function toHttpRequest(
  { operation, wire, options }: Call,
  { token, userAgent }: { readonly token: string; readonly userAgent: string },
  requestId: string,
  timeLeftMs: number,
): Omit<HttpRequest, 'signal'> {
  const json = 'json' in wire && wire.json !== undefined ? JSON.stringify(wire.json) : undefined;
  const body = 'text' in wire ? wire.text : json;
  const limitMs = operation.safety === 'safe' ? READ_HEADERS_TIMEOUT_MS : ATTEMPT_TIMEOUT_MS;
  return {
    method: wire.method,
    path: wire.path,
    requestId,
    body,
    // A kept-alive connection may close while a request is sent. A space can be looked up then; jobs and files would be unknown.
    freshConnection: operation.safety === 'once' && operation.leaf !== 'spaces.provision',
    maySend: options.maySend,
    // Longer than what is left of the call, so that its own limit comes first.
    headersTimeoutMs: Math.min(limitMs, Math.max(0, timeLeftMs)) + 1000,
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
