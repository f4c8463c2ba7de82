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

/** Replaces the placeholders for the addresses of the recorded service. */
function toOwnAddresses(text: string, origin: string): string {
  return text
    .replaceAll('{base_url}', `${origin}${BASE}`)
    .replaceAll('{base_path}', BASE)
    .replaceAll('{origin}', origin);
}

/** Shifts a time of an answer so that its distance from now is the same as when it was recorded. */
function shiftDate(value: string, recordedAt: string | null, now: number): string {
  const [then, at] = [Date.parse(value), Date.parse(recordedAt ?? '')];
  return Number.isNaN(then) || Number.isNaN(at) ? value : new Date(now + then - at).toUTCString();
}

function headersOf({ headers, at }: RecordedExchange, { origin, scheduler }: Service): Headers {
  const own = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    const isTime = /^(date|retry-after)$/i.test(name) && !/^\d+$/.test(value);
    own.set(name, isTime ? shiftDate(value, at, scheduler.now()) : toOwnAddresses(value, origin));
  }
  return own;
}

function bodyOf({ body, status }: RecordedExchange, origin: string): string | null {
  // Statuses that have no body.
  if (body === null || status === null || [204, 205, 304].includes(status)) return null;
  return toOwnAddresses('text' in body ? body.text : JSON.stringify(body.json), origin);
}

/** What was sent, to choose between requests that differ in nothing else. */
async function receivedBody(c: ServiceContext): Promise<string | undefined> {
  if (!/json/.test(c.req.header('content-type') ?? '')) return undefined;
  const read = await readJson(c.env.incoming, { maxBytes: 1024 * 1024, timeoutMs: c.get('clientTimeoutMs') });
  return JSON.stringify(read.value);
}

function notRecorded(c: ServiceContext, exchanges: readonly RecordedExchange[]): Problem {
  const asked = `${c.req.method} ${c.req.path.slice(BASE.length)}${new URL(c.req.url).search}`;
  const known = [
    ...new Set(exchanges.map(({ method, path, query }) => `${method} ${path}${query.length > 0 ? '?…' : ''}`)),
  ];
  const shown = known.length === 0 ? 'no request' : known.slice(0, 10).join(', ');
  const more = known.length > 10 ? `, and ${known.length - 10} more` : '';
  return new Problem(421, 'not_recorded', `The bundle has no response to ${asked}. It has ${shown}${more}.`);
}

/**
 * Answers each request like the recorded one with the same method, path, and query, for any token. Several of
 * the same are answered in their order, and then always as the last one. One without a recording is refused with 421, which
 * says nothing of the service: a client takes 404 and 501 for a missing list.
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
