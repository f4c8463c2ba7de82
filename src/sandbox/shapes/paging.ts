import type { Schema } from '../contract/schema.ts';
import { invalidInput } from '../problem.ts';
import type { Json } from './json.ts';
import type { FieldSchema } from './maker.ts';

/** What a page can say about itself and the list. */
export type PageField =
  | 'next_url'
  | 'next_path'
  | 'next_query'
  | 'previous_url'
  | 'self_url'
  | 'next_token'
  | 'next_page'
  | 'next_offset'
  | 'last_id'
  | 'has_more'
  | 'is_last'
  | 'page'
  | 'pages'
  | 'offset'
  | 'size'
  | 'items'
  | 'total'
  | 'links'
  | 'link_header'
  | 'content_range';

/** How pages of lists and of the history are requested and announced. */
export interface Paging {
  /** What the page parameter holds. */
  readonly by: 'token' | 'last_id' | 'page' | 'offset';
  /** The name of the page parameter. */
  readonly parameter: string;
  /** The name of the parameter for the page size. */
  readonly size: string;
  /** The page size if the request sets none; by default the `page_size` setting. */
  readonly pageSize?: number;
  /** The number of the first page; 1 by default. */
  readonly firstPage?: 0 | 1;
  /** What the next-page field holds on the last page; null by default. */
  readonly end?: 'null' | 'absent' | 'empty';
  /** Page fields by path in the body, such as `paging/next`. */
  readonly body?: Readonly<Record<string, PageField>>;
  readonly headers?: Readonly<Record<string, PageField>>;
  /** Whether a page that is not the whole list has status 206. */
  readonly isPartial?: boolean;
}

/** A request for a page. */
export interface PageRequest {
  /** From the query or the JSON body. */
  readonly parameters: ReadonlyMap<string, string>;
  /** Absolute, without the query. */
  readonly url: string;
  /** The `page_size` setting. */
  readonly defaultSize: number;
}

/** A part of a list. */
export interface PageState {
  readonly start: number;
  readonly size: number;
  readonly total: number;
  /** The id of the last item on the page. */
  readonly lastId: string | undefined;
}

const MAX_SIZE = 1_000;

function wholeNumber(request: PageRequest, name: string, fallback: number, min: number): number {
  const text = request.parameters.get(name);
  if (text === undefined) return fallback;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (value < min) throw invalidInput([{ path: name, message: `must be a whole number from ${min}` }]);
  return value;
}

/** The token of the page that begins at an index. */
export function toToken(index: number): string {
  return Buffer.from(`page:${index}`).toString('base64url');
}

function startOf(paging: Paging, request: PageRequest, size: number, ids: readonly string[]): number {
  const { by, parameter, firstPage = 1 } = paging;
  if (by === 'page') return (wholeNumber(request, parameter, firstPage, firstPage) - firstPage) * size;
  if (by === 'offset') return wholeNumber(request, parameter, 0, 0);
  const text = request.parameters.get(parameter);
  if (text === undefined) return 0;
  if (by === 'last_id') {
    const index = ids.indexOf(text);
    if (index === -1) throw invalidInput([{ path: parameter, message: 'is not the id of an item' }]);
    return index + 1;
  }
  const digits = /^page:(\d{1,9})$/.exec(Buffer.from(text, 'base64url').toString('utf8'))?.[1];
  if (digits === undefined) throw invalidInput([{ path: parameter, message: 'is not a token of this service' }]);
  return Number(digits);
}

/**
 * Returns the part of a list that a request asks for.
 * @param ids of all items, in order
 * @throws Problem 422 for an invalid page parameter or size
 */
export function choosePage(paging: Paging, request: PageRequest, ids: readonly string[]): PageState {
  const size = Math.min(wholeNumber(request, paging.size, paging.pageSize ?? request.defaultSize, 1), MAX_SIZE);
  const start = startOf(paging, request, size, ids);
  return { start, size, total: ids.length, lastId: ids.slice(start, start + size).at(-1) };
}

function pageParameter(paging: Paging, start: number, { size, lastId }: PageState): string {
  switch (paging.by) {
    case 'token':
      return toToken(start);
    case 'last_id':
      return lastId ?? '';
    case 'page':
      return String(Math.floor(start / size) + (paging.firstPage ?? 1));
    case 'offset':
      return String(start);
  }
}

/** The URLs of a page and its neighbors. */
function urlsOf(paging: Paging, request: PageRequest, state: PageState) {
  const { start, size, total } = state;
  const toQuery = (index: number): string => {
    const chosen = { [paging.size]: String(size), [paging.parameter]: pageParameter(paging, index, state) };
    return `?${new URLSearchParams({ ...Object.fromEntries(request.parameters), ...chosen })}`;
  };
  const own = new URLSearchParams(Object.fromEntries(request.parameters)).toString();
  return {
    self: `${request.url}${own === '' ? '' : `?${own}`}`,
    next: start + size < total ? toQuery(start + size) : undefined,
    previous: start > 0 && paging.by !== 'last_id' ? toQuery(Math.max(0, start - size)) : undefined,
  };
}

/** The values of all page fields. A field that the page leaves out is undefined. */
export function pageFields(
  paging: Paging,
  request: PageRequest,
  state: PageState,
): Readonly<Record<PageField, Json | undefined>> {
  const { start, size, total, lastId } = state;
  const { end = 'null', firstPage = 1 } = paging;
  const urls = urlsOf(paging, request, state);
  const absent = end === 'absent' ? undefined : end === 'empty' ? '' : null;
  const absentNumber = end === 'null' ? null : undefined;
  const hasMore = urls.next !== undefined;
  const page = Math.floor(start / size) + firstPage;
  const pathname = new URL(request.url).pathname;
  const links = [
    { rel: 'self', href: urls.self },
    ...(urls.previous === undefined ? [] : [{ rel: 'prev', href: `${request.url}${urls.previous}` }]),
    ...(urls.next === undefined ? [] : [{ rel: 'next', href: `${request.url}${urls.next}` }]),
  ];
  const last = Math.min(start + size, total) - 1;
  return {
    next_url: hasMore ? `${request.url}${urls.next}` : absent,
    next_path: hasMore ? `${pathname}${urls.next}` : absent,
    next_query: hasMore ? urls.next : absent,
    previous_url: urls.previous === undefined ? absent : `${request.url}${urls.previous}`,
    self_url: urls.self,
    next_token: hasMore ? toToken(start + size) : absent,
    next_page: hasMore ? page + 1 : absentNumber,
    next_offset: hasMore ? start + size : absentNumber,
    last_id: lastId ?? absent,
    has_more: hasMore,
    is_last: !hasMore,
    page,
    pages: Math.max(1, Math.ceil(total / size)),
    offset: start,
    size,
    items: Math.max(0, last + 1 - start),
    total,
    links,
    link_header: links.length > 1 ? links.map(({ rel, href }) => `<${href}>; rel="${rel}"`).join(', ') : undefined,
    content_range: last < start ? `items */${total}` : `items ${start}-${last}/${total}`,
  };
}

function integer(description: string): Schema {
  return { type: 'integer', minimum: 0, description };
}

const PAGE_FIELD_SCHEMAS: Readonly<Record<PageField, Schema>> = {
  next_url: { type: 'string', description: 'The URL of the next page.' },
  next_path: { type: 'string', description: 'The path and query of the next page.' },
  next_query: { type: 'string', description: 'The query of the next page.' },
  previous_url: { type: 'string', description: 'The URL of the previous page.' },
  self_url: { type: 'string', description: 'The URL of this page.' },
  next_token: { type: 'string', description: 'The token of the next page.' },
  next_page: integer('The number of the next page.'),
  next_offset: integer('Where the next page begins.'),
  last_id: { type: 'string', description: 'The identifier of the last item of the page.' },
  has_more: { type: 'boolean', description: 'Whether there is another page.' },
  is_last: { type: 'boolean', description: 'Whether this is the last page.' },
  page: integer('The number of this page.'),
  pages: integer('The number of pages.'),
  offset: integer('Where this page begins.'),
  size: integer('The largest number of items on a page.'),
  items: integer('The number of items on this page.'),
  total: integer('The number of all items.'),
  links: {
    type: 'array',
    description: 'This page and its neighbors.',
    items: {
      type: 'object',
      properties: { rel: { type: 'string', enum: ['self', 'prev', 'next'] }, href: { type: 'string' } },
      required: ['rel', 'href'],
    },
  },
  link_header: { type: 'string', description: 'Links to the neighboring pages (RFC 8288); none on the only page.' },
  content_range: { type: 'string', description: 'Which items of how many: `items 0-1/5`.' },
};

/** The fields that the first or last page lacks. */
const ENDING: readonly PageField[] = ['next_url', 'next_path', 'next_query', 'previous_url', 'next_token', 'last_id'];
const ENDING_NUMBERS: readonly PageField[] = ['next_page', 'next_offset'];

/** The schema of a page field in a body or a header. */
export function pageFieldSchema({ end = 'null' }: Paging, field: PageField): FieldSchema {
  const schema = PAGE_FIELD_SCHEMAS[field];
  const isNumber = ENDING_NUMBERS.includes(field);
  if (!isNumber && !ENDING.includes(field)) return schema;
  if (end === 'null') return { ...schema, type: [isNumber ? 'integer' : 'string', 'null'] };
  return end === 'absent' || isNumber ? { ...schema, optional: true } : schema;
}
