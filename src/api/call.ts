import { Contract } from '../contract/contract.ts';
import type { Operation, RawOperation } from '../contract/operations.ts';
import { buildRequest, NoOperation, type RequestValues } from '../contract/request.ts';
import { NoOperationError, UsageError } from '../errors.ts';
import type { StreamedBody } from './streamed-body.ts';

export interface TokenOrigin {
  /** `PARTNER_TOKEN`, `--token-file token.txt`, `profile "acme"`. */
  readonly from: string;
  readonly replaceHint: string;
}

export interface CallOptions {
  /** Ignored with `link`, save for what goes into a body. */
  readonly values?: RequestValues;
  /** The body, where the spec says what it is (§4). */
  readonly json?: object;
  /** The link to another page: path and query, starting with the base path. Replaces the operation's own path. */
  readonly link?: string;
  /** The parameters of a page, which go where this operation has its parameters: the query of a GET, or else the body. */
  readonly page?: Readonly<Record<string, string>>;
  /** A body to send instead of JSON. While the connection accepts chunks, only the command's deadline applies. */
  readonly body?: StreamedBody;
  readonly retries?: number;
  /** The time limit of this call with its waits and retries. The command's deadline still applies. */
  readonly timeoutMs?: number;
  /** How long the service may send nothing before and within the response to a `safe` call. 30 s by default. */
  readonly idleMs?: number;
  /** Asked in the tick that writes a request, after its connection stands. False: the call throws a LocalError. */
  readonly maySend?: () => boolean;
  /** Cancels a `safe` call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

export interface Call {
  readonly operation: Operation | RawOperation;
  readonly options: CallOptions;
  readonly wire: RawOperation['request'];
  /** Its method and path, for messages: `GET /automation/spaces/`. */
  readonly name: string;
  readonly url: string;
  readonly deadline: number;
  readonly baseUrl: string;
  readonly contract: Contract;
  readonly tokenOrigin: TokenOrigin | undefined;
  /** Removes secrets from a text before any of it is quoted or stored. */
  readonly redact: (text: string) => string;
}

function withQuery(path: string, page: Readonly<Record<string, string>>): string {
  if (Object.keys(page).length === 0) return path;
  const [pathname = '', query] = path.split('?', 2);
  const parameters = new URLSearchParams(query);
  for (const [name, value] of Object.entries(page)) parameters.set(name, value);
  return `${pathname}?${parameters}`;
}

/** Returns what a call sends. @throws UsageError for a value that cannot be in a path; NoOperationError */
export function toWire(
  operation: Operation | RawOperation,
  { values, json, page = {}, link }: CallOptions,
  { contract, basePath }: { readonly contract: Contract; readonly basePath: string },
): RawOperation['request'] {
  if (operation.leaf === undefined) return operation.request;
  try {
    const { method, path, json: parameters } = buildRequest(contract, operation.leaf, values);
    const isRead = method === 'GET';
    const body = json ?? (isRead || Object.keys(page).length === 0 ? parameters : { ...parameters, ...page });
    const own = link ?? basePath + (isRead ? withQuery(path, page) : path);
    return { method, path: own, headers: {}, text: body && JSON.stringify(body) };
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(error.message);
    if (!(error instanceof NoOperation)) throw error;
    throw new NoOperationError(error.message, {
      hint: `If it has, run: partnerctl contract set ${operation.leaf} '${new Contract().leaf(operation.leaf).value}'`,
      details: { operation: operation.name, leaf: operation.leaf },
    });
  }
}
