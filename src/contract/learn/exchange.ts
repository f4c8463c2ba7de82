import { isJsonObject, type JsonObject } from '../json.ts';

/** A request and its response, as `--debug-file` records them. */
export interface Exchange {
  /** From 1. */
  readonly line: number;
  /** When the response came, in ISO 8601, if the record says. */
  readonly at?: string | undefined;
  readonly method: string;
  /** Relative to the base URL. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Undefined if the request had no JSON body. */
  readonly requestBody: unknown;
  /** The names of the fields of a multipart form. */
  readonly form: readonly string[];
  /** The URLs in the Link header of the response, by relation. */
  readonly headerLinks: Readonly<Record<string, string>>;
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** Whether the status is a 2xx. */
export function isSuccess({ status }: Exchange): boolean {
  return status >= 200 && status < 300;
}

function textEntries(value: unknown): Readonly<Record<string, string>> {
  const entries = isJsonObject(value) ? Object.entries(value) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}

function lowerCaseNames(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** Returns a path relative to the base URL. Accepts another prefix before the same version. */
function relativePath(path: string, basePath: string): string | undefined {
  if (path.startsWith(`${basePath}/`)) return path.slice(basePath.length);
  const version = `/${basePath.split('/').at(-1) ?? ''}/`;
  const at = version === '//' ? -1 : path.indexOf(version);
  return at === -1 ? undefined : path.slice(at + version.length - 1);
}

/** A line of a trace: an exchange, a request without a response or outside of the base URL, or not a record. */
export type ReadLine =
  | { readonly kind: 'exchange'; readonly exchange: Exchange }
  /** @property origin of the request */
  | { readonly kind: 'foreign'; readonly origin: string }
  | { readonly kind: 'no-response' | 'outside' }
  | { readonly kind: 'invalid'; readonly why: string };

/** Where the exchanges of a trace must have been recorded. */
export interface RecordedService {
  readonly origin: string;
  /** The path of the base URL, such as `/v1`. */
  readonly basePath: string;
}

/**
 * Reads a record of a trace.
 * @param value the parsed line
 * @param headerLinks the URLs in its Link header, by relation
 */
export function readExchange(
  value: unknown,
  line: number,
  service: RecordedService,
  headerLinks: Readonly<Record<string, string>>,
): ReadLine {
  if (!isJsonObject(value)) return { kind: 'invalid', why: 'it is not an object' };
  const { method, origin, path, status } = value;
  if (typeof method !== 'string' || typeof origin !== 'string' || typeof path !== 'string') {
    return { kind: 'invalid', why: 'it has no method, origin, and path' };
  }
  if (origin !== service.origin) return { kind: 'foreign', origin };
  if (typeof status !== 'number') return { kind: 'no-response' };
  const relative = relativePath(path, service.basePath);
  if (relative === undefined) return { kind: 'outside' };
  return { kind: 'exchange', exchange: { ...toExchange(value, method, status), line, path: relative, headerLinks } };
}

function toExchange(record: JsonObject, method: string, status: number) {
  const { at, query, request_body, request_form, response_headers, response_body } = record;
  return {
    at: typeof at === 'string' ? at : undefined,
    method,
    query: textEntries(query),
    requestBody: request_body ?? undefined,
    form: Array.isArray(request_form) ? request_form.filter((name) => typeof name === 'string') : [],
    status,
    headers: lowerCaseNames(textEntries(response_headers)),
    body: response_body,
  };
}
