import type { TraceEvent } from '../../api/attempt.ts';
import { parseJson } from '../../contract/json.ts';
import type { Exchange } from '../../contract/learn/exchange.ts';
import { stringifyJson } from '../../output/formats/stringify-json.ts';
import type { BodyRedactor } from './redact-body.ts';
import { isCountField, type TextRedactor } from './redact-text.ts';

/** A request and its response or failure, before redaction. */
export interface SeenExchange {
  /** When it was sent, in ISO 8601; undefined if not known. */
  readonly at: string | undefined;
  readonly method: string;
  /** Relative to the base URL. */
  readonly path: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly requestBody: unknown;
  /** Undefined if there was no response. */
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed JSON; text if it is not JSON, or a JSON string; undefined without a body. */
  readonly body: unknown;
  readonly failure: string | undefined;
}

/** A request of a bundle, and the response that a replay gives. */
export interface BundledExchange {
  readonly kind: 'exchange';
  readonly from: 'doctor' | 'included';
  readonly at: string | null;
  readonly method: string;
  readonly path: string;
  readonly query: readonly (readonly [string, string])[];
  readonly request_body: unknown;
  readonly status: number | null;
  readonly headers: Readonly<Record<string, string>>;
  /** `text` if it is not JSON, or has numbers that JSON parsers round. */
  readonly body: { readonly json: unknown } | { readonly text: string } | null;
  readonly failure: string | null;
}

/** Headers that carry credentials, do not matter to clients, or are set by the server that replays them. */
const DROPPED =
  /^(proxy-)?authorization$|cookie|^(connection|keep-alive|transfer-encoding|content-length|content-encoding|report-to|nel|alt-svc|server-timing)$/i;

/** Parses JSON. A JSON string keeps its quotes, which distinguish it from text. */
function parse(text: string): unknown {
  try {
    const value: unknown = parseJson(text);
    return typeof value === 'string' ? text : value;
  } catch {
    return text;
  }
}

/**
 * Converts a trace event of the client.
 * @param basePath the path of the base URL
 * @param at when it happened, in milliseconds since the epoch
 * @param redact replaces secrets in a text
 * @returns undefined for an event without a result, or outside the base URL
 */
export function toSeenExchange(
  event: TraceEvent,
  { basePath, at, redact }: { basePath: string; at: number; redact: (text: string) => string },
): SeenExchange | undefined {
  if (event.kind !== 'result') return undefined;
  const { request, result } = event;
  const { pathname, searchParams } = new URL(redact(request.path), event.url);
  if (!pathname.startsWith(`${basePath}/`)) return undefined;
  const response = result.kind === 'response' ? result : undefined;
  return {
    at: new Date(at).toISOString(),
    method: request.method,
    path: pathname.slice(basePath.length),
    query: [...searchParams],
    requestBody: typeof request.body === 'string' ? parse(redact(request.body)) : null,
    status: response?.status,
    headers: Object.fromEntries(Object.entries(response?.headers ?? {}).map(([name, value]) => [name, redact(value)])),
    body: response && response.body !== '' ? parse(redact(response.body)) : undefined,
    failure: result.kind === 'failure' ? (result.code ?? 'unknown') : undefined,
  };
}

/** Converts a request of a trace. */
export function fromTrace({ at, method, path, query, requestBody, status, headers, body }: Exchange): SeenExchange {
  const shared = { at, method, path, status, headers, failure: undefined };
  return { ...shared, query: Object.entries(query), requestBody: requestBody ?? null, body: body ?? undefined };
}

function hasBigInt(value: unknown): boolean {
  if (typeof value === 'bigint') return true;
  return typeof value === 'object' && value !== null && Object.values(value).some(hasBigInt);
}

/** Redacts requests and their responses. */
export class ExchangeRedactor {
  private readonly texts: TextRedactor;
  private readonly bodies: BodyRedactor;

  constructor(texts: TextRedactor, bodies: BodyRedactor) {
    this.texts = texts;
    this.bodies = bodies;
  }

  /** Keeps the shape of the request and the response. */
  redact(seen: SeenExchange, from: BundledExchange['from']): BundledExchange {
    const { at, method, path, query, requestBody, status, failure } = seen;
    return {
      kind: 'exchange',
      from,
      at: at ?? null,
      method,
      path: this.texts.path(path),
      query: query.map(([name, value]) => [this.texts.name(name), this.texts.parameter(name, value)]),
      request_body:
        typeof requestBody === 'string'
          ? this.bodies.text(requestBody, false)
          : this.exact(this.bodies.json(requestBody, false)),
      status: status ?? null,
      headers: this.headers(seen),
      body: this.body(seen),
      failure: failure ?? null,
    };
  }

  /** Returns the document as text if it has numbers that JSON parsers round. */
  private exact(value: unknown): unknown {
    return hasBigInt(value) ? stringifyJson(value) : value;
  }

  private headers({ headers }: SeenExchange): Readonly<Record<string, string>> {
    const kept = Object.entries(headers).filter(([name]) => !DROPPED.test(name));
    return Object.fromEntries(kept.map(([name, value]) => [name, this.header(name.toLowerCase(), value)]));
  }

  private header(name: string, value: string): string {
    // Headers allow no other characters.
    const latin = (text: string) => text.replace(/[^\t\x20-\x7e\xa0-\xff]/g, '?');
    if (/^\d+$/.test(value) && (isCountField(name) || name.includes('ratelimit') || name === 'retry-after'))
      return value;
    if (name === 'location' || name === 'content-location') return latin(this.texts.url(value));
    return latin(
      value.replace(/<([^>]*)>|[^<>]+/g, (part, address: string | undefined) =>
        address === undefined ? this.texts.text(part, 'prose') : `<${this.texts.url(address)}>`,
      ),
    );
  }

  private body({ body, status = 0, headers }: SeenExchange): BundledExchange['body'] {
    if (body === undefined) return null;
    const isError = status >= 400;
    const type = headers['content-type'] ?? '';
    if (typeof body === 'string') return { text: this.bodies.text(body, isError || type.includes('html')) };
    const json = this.bodies.json(body, isError);
    return hasBigInt(json) ? { text: stringifyJson(json) } : { json };
  }
}
