import type { MiddlewareHandler } from 'hono';
import { resetConnection } from '../fault-middleware.ts';
import { Problem } from '../problem.ts';
import { readJson } from '../request-body.ts';
import type { Service, ServiceContext, ServiceEnv } from '../service.ts';
import type { Bundle, RecordedExchange } from './bundle.ts';

const BASE = '/v1';

function compare([a, b]: readonly [string, string], [c, d]: readonly [string, string]): number {
  return a < c ? -1 : a > c ? 1 : b < d ? -1 : b > d ? 1 : 0;
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** @param query in any order */
function keyOf(method: string, path: string, query: readonly (readonly [string, string])[]): string {
  return JSON.stringify([method, decode(path), query.toSorted(compare)]);
}

function groupByRequest(exchanges: readonly RecordedExchange[]): ReadonlyMap<string, readonly RecordedExchange[]> {
  const groups = new Map<string, RecordedExchange[]>();
  for (const exchange of exchanges) {
    const key = keyOf(exchange.method, exchange.path, exchange.query);
    groups.set(key, [...(groups.get(key) ?? []), exchange]);
  }
  return groups;
}

/** Replaces the placeholders for the URLs of the recorded service. */
function fillUrls(text: string, origin: string): string {
  return text
    .replaceAll('{base_url}', `${origin}${BASE}`)
    .replaceAll('{base_path}', BASE)
    .replaceAll('{origin}', origin);
}

/** Shifts a date of a response, so that it is as far from now as it was from the time of recording. */
function shiftDate(value: string, recordedAt: string | null, now: number): string {
  const [then, at] = [Date.parse(value), Date.parse(recordedAt ?? '')];
  return Number.isNaN(then) || Number.isNaN(at) ? value : new Date(now + then - at).toUTCString();
}

function headersOf({ headers, at }: RecordedExchange, { origin, scheduler }: Service): Headers {
  const own = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    const isTime = /^(date|retry-after)$/i.test(name) && !/^\d+$/.test(value);
    own.set(name, isTime ? shiftDate(value, at, scheduler.now()) : fillUrls(value, origin));
  }
  return own;
}

function bodyOf({ body, status }: RecordedExchange, origin: string): string | null {
  // These statuses have no body.
  if (body === null || status === null || [204, 205, 304].includes(status)) return null;
  return fillUrls('text' in body ? body.text : JSON.stringify(body.json), origin);
}

/** The JSON body of the request, to choose between recordings that differ only in it. */
async function receivedBody(c: ServiceContext): Promise<string | undefined> {
  if (!/json/.test(c.req.header('content-type') ?? '')) return undefined;
  const read = await readJson(c.env.incoming, { maxBytes: 1024 * 1024, timeoutMs: c.get('clientTimeoutMs') });
  return JSON.stringify(read.value);
}

function notRecorded(c: ServiceContext, exchanges: readonly RecordedExchange[]): Problem {
  const request = `${c.req.method} ${c.req.path.slice(BASE.length)}${new URL(c.req.url).search}`;
  const known = [
    ...new Set(exchanges.map(({ method, path, query }) => `${method} ${path}${query.length > 0 ? '?…' : ''}`)),
  ];
  const shown = known.length === 0 ? 'no request' : known.slice(0, 10).join(', ');
  const more = known.length > 10 ? `, and ${known.length - 10} more` : '';
  return new Problem(421, 'not_recorded', `The bundle has no response to ${request}. It has ${shown}${more}.`);
}

/**
 * Responds to each request as recorded for the same method, path, and query, with any token. Several recordings of one
 * request are sent in order; then the last one is repeated. A request without a recording gets a 421: a client would take
 * a 404 or 501 for a missing list.
 */
export function replay(service: Service, { exchanges }: Bundle): MiddlewareHandler<ServiceEnv> {
  const groups = groupByRequest(exchanges);
  const counts = new Map<string, number>();
  return async (c) => {
    const url = new URL(c.req.url);
    const key = keyOf(c.req.method, url.pathname.slice(BASE.length), [...url.searchParams]);
    const group = groups.get(key);
    if (group === undefined) throw notRecorded(c, exchanges);
    const body = group.length > 1 ? await receivedBody(c) : undefined;
    const same = group.filter(({ request_body }) => JSON.stringify(request_body) === body);
    const [candidates, counted] = body !== undefined && same.length > 0 ? [same, key + body] : [group, key];
    const count = counts.get(counted) ?? 0;
    counts.set(counted, count + 1);
    const exchange = candidates[Math.min(count, candidates.length - 1)];
    if (exchange === undefined) throw notRecorded(c, exchanges);
    if (exchange.status === null) return resetConnection(c);
    return new Response(bodyOf(exchange, service.origin), {
      status: exchange.status,
      headers: headersOf(exchange, service),
    });
  };
}
