import type { ServerResponse } from 'node:http';
import { type FakeRequest, type FakeService, sendJson, startFakeService } from './fake-service.ts';

/** A page that a service is about to send. */
interface ServedPage {
  readonly items: readonly { readonly space_id: string }[];
  readonly start: number;
  readonly end: number;
  readonly total: number;
  /** The number of the page, from 0. */
  readonly page: number;
  readonly pages: number;
  readonly hasMore: boolean;
  readonly last: string;
}

/** The response for a page: a body, and optional headers and a status. */
interface Served {
  readonly body: unknown;
  readonly headers?: Record<string, string>;
  readonly status?: number;
}

export interface PagedService {
  /** The start of the page that a request asks for. May return a response that is not a page instead. */
  readonly start: (query: URLSearchParams) => number | Served;
  readonly serve: (page: ServedPage) => Served;
  readonly count?: number;
  readonly size?: number;
}

export function spaceIds(count: number): readonly { readonly space_id: string }[] {
  return Array.from({ length: count }, (_, index) => ({ space_id: `s${index + 1}` }));
}

/** Starts a service that lists five spaces, two per page, in its own way. */
export function startPagedService({ start, serve, count = 5, size = 2 }: PagedService): Promise<FakeService> {
  const all = spaceIds(count);
  const send = (response: ServerResponse, { body, headers = {}, status = 200 }: Served): void =>
    sendJson(response, body, status, headers);
  return startFakeService((request: FakeRequest, response) => {
    const from = start(request.query);
    if (typeof from !== 'number') return send(response, from);
    const items = all.slice(Math.max(0, from), Math.max(0, from) + size);
    const end = from + items.length;
    const last = items.at(-1)?.space_id ?? '';
    const page = Math.floor(from / size);
    send(
      response,
      serve({
        items,
        start: from,
        end,
        total: count,
        page,
        pages: Math.ceil(count / size),
        hasMore: end < count,
        last,
      }),
    );
  });
}

/** Reads a number from the query, or returns `otherwise`. */
export function numberIn(query: URLSearchParams, name: string, otherwise = 0): number {
  return Number(query.get(name) ?? otherwise);
}
