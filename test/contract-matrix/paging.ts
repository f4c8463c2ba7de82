import { type Answer, ServiceError } from './http.ts';
import type { Resource, Wire } from './wire.ts';

/** The requested list. */
export interface ListRequest {
  readonly resource: Resource;
  /** The service's name for these resources. */
  readonly key: string;
  readonly items: readonly Wire[];
  /** The ids of the items. */
  readonly ids: readonly string[];
  readonly url: URL;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The number of items on a page. */
  readonly size: number;
}

/** One page. */
export interface Page extends ListRequest {
  /** The items of this page. */
  readonly items: readonly Wire[];
  /** The number of items before it. */
  readonly from: number;
  readonly total: number;
  /** The number of the page, from 1, and the number of pages. */
  readonly number: number;
  readonly pages: number;
  readonly hasNext: boolean;
  /** The id of its last item. */
  readonly lastId: string | null;
  /** This request's absolute URL, with other parameters. */
  link(parameters: Readonly<Record<string, string | number>>): string;
  /** Its path and query. */
  path(parameters: Readonly<Record<string, string | number>>): string;
}

/** Where a request selects its page: the parameters that the service supports, and the number of items before the page. */
export interface Position {
  readonly kind: 'page' | 'offset' | 'token' | 'after' | 'header' | 'none';
  readonly parameters: readonly string[];
  readonly from: (list: ListRequest) => number;
}

export interface Paging {
  readonly position: Position;
  readonly answer: (list: ListRequest) => Answer;
}

type Body = (page: Page) => unknown;
type Headers = (page: Page) => Record<string, string | string[]>;

/**
 * Describes how a service pages.
 * @param position how a request selects a page
 * @param body the body of a page
 * @param more headers, and the status if it is not 200
 */
export function paging(position: Position, body: Body, more: { headers?: Headers; status?: number } = {}): Paging {
  return {
    position,
    answer: (list) => {
      const page = pageAt(list, position.from(list));
      const headers = more.headers?.(page) ?? {};
      return { status: page.total > page.size ? (more.status ?? 200) : 200, headers, body: body(page) };
    },
  };
}

/** Everything is on one page. */
export function unpaged(body: Body): Paging {
  const position: Position = { kind: 'none', parameters: [], from: () => 0 };
  const { answer } = paging(position, body);
  return { position, answer: (list) => answer({ ...list, size: Math.max(1, list.items.length) }) };
}

function pageAt(list: ListRequest, from: number): Page {
  const { items, size, url } = list;
  const link = (parameters: Readonly<Record<string, string | number>>): string => {
    const next = new URL(url);
    for (const [name, value] of Object.entries(parameters)) next.searchParams.set(name, String(value));
    return next.href;
  };
  return {
    ...list,
    items: items.slice(from, from + size),
    from,
    total: items.length,
    number: Math.floor(from / size) + 1,
    pages: Math.max(1, Math.ceil(items.length / size)),
    hasNext: from + size < items.length,
    lastId: list.ids[Math.min(from + size, items.length) - 1] ?? null,
    link,
    path: (parameters) => link(parameters).slice(url.origin.length),
  };
}

function numberIn(url: URL, name: string, otherwise: number): number {
  const text = url.searchParams.get(name);
  if (text === null || text === '') return otherwise;
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0) throw new ServiceError(400, 'invalid_parameter', `${name} is invalid.`);
  return number;
}

/** Pages have numbers. @param first the number of the first page */
export function byNumber(parameter = 'page', first = 1): Position {
  return {
    kind: 'page',
    parameters: [parameter],
    from: ({ url, size }) => Math.max(0, numberIn(url, parameter, first) - first) * size,
  };
}

/** A page starts after this many items. @param first the number of the first item */
export function byOffset(parameter = 'offset', first = 0): Position {
  return {
    kind: 'offset',
    parameters: [parameter],
    from: ({ url }) => Math.max(0, numberIn(url, parameter, first) - first),
  };
}

/** The response contains an opaque token for the next page. */
export function byToken(parameter: string): Position {
  return { kind: 'token', parameters: [parameter], from: ({ url }) => readToken(url.searchParams.get(parameter)) };
}

/** A page starts after the item with this id. */
export function byLastId(parameter: string): Position {
  return {
    kind: 'after',
    parameters: [parameter],
    from: ({ url, ids }) => {
      const id = url.searchParams.get(parameter);
      if (id === null || id === '') return 0;
      if (!ids.includes(id)) throw new ServiceError(400, 'resource_missing', `No such object: ${parameter}.`);
      return ids.indexOf(id) + 1;
    },
  };
}

/** The token of the page after this one; null at the end. */
export function tokenOf({ from, size, hasNext }: Page): string | null {
  return hasNext ? token(from + size) : null;
}

export function token(from: number): string {
  return Buffer.from(`{"seek":${from},"v":2}`).toString('base64url');
}

function readToken(text: string | null): number {
  if (text === null || text === '') return 0;
  const found = /^\{"seek":(\d+),/.exec(Buffer.from(text, 'base64url').toString());
  if (!found) throw new ServiceError(400, 'invalid_cursor', 'The cursor is not valid.');
  return Number(found[1]);
}

/** The response contains an opaque token for the next page, which the request repeats in a header. */
export function byHeader(name: string): Position {
  return { kind: 'header', parameters: [], from: ({ headers }) => readToken(String(headers[name] ?? '')) };
}

/** There is no page after the last one: 404. */
export function ending(position: Position): Position {
  return {
    ...position,
    from: (list) => {
      const from = position.from(list);
      if (from > 0 && from >= list.items.length) throw new ServiceError(404, 'invalid_page', 'Invalid page.');
      return from;
    },
  };
}

/** The same, with the newest items on the first page. */
export function newestFirst({ position, answer }: Paging): Paging {
  return {
    position,
    answer: (list) => answer({ ...list, items: list.items.toReversed(), ids: list.ids.toReversed() }),
  };
}

/** The same, with 204 for a list without items. */
export function emptyAs204({ position, answer }: Paging): Paging {
  return { position, answer: (list) => (list.items.length === 0 ? { status: 204 } : answer(list)) };
}
