import { invalidInput } from './problem.ts';
import type { Service, ServiceContext } from './service.ts';
import { MAX_PAGE_SIZE } from './settings.ts';

interface Page<Item> {
  readonly count: number;
  readonly next: string | null;
  readonly previous: string | null;
  readonly results: Item[];
}

function cursorOf(position: number): string {
  return Buffer.from(`from:${position}`).toString('base64url');
}

function positionOf(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  const text = Buffer.from(cursor, 'base64url').toString('utf8');
  const digits = /^from:(0|[1-9]\d{0,14})$/.exec(text)?.[1];
  if (digits === undefined) throw invalidInput([{ path: 'cursor', message: 'is not a cursor of this service' }]);
  return Number(digits);
}

/** The `page_size` that a request asks for, or the setting. @throws Problem 422 when it is out of bounds. */
export function pageSizeOf(service: Service, c: ServiceContext): number {
  const text = c.req.query('page_size');
  if (text === undefined) return service.store.world.settings.page_size;
  const size = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (size < 1 || size > MAX_PAGE_SIZE) {
    throw invalidInput([{ path: 'page_size', message: `must be a whole number from 1 to ${MAX_PAGE_SIZE}` }]);
  }
  return size;
}

/**
 * Answers a list request with one page. The spec (§4.7) leaves lists open; this service pages by an opaque cursor and
 * gives the neighbouring pages as absolute addresses. Costs no more than the page, however long the list.
 * @param items in a stable order; new ones join at the end.
 * @param show how the service presents an item.
 * @param filter the parts of the query that chose the items; the neighbouring pages' addresses repeat them.
 */
export function pageOf<Record, Item>(
  service: Service,
  c: ServiceContext,
  items: readonly Record[],
  show: (record: Record) => Item,
  filter: Readonly<{ [parameter: string]: string }> = {},
): Page<Item> {
  const size = pageSizeOf(service, c);
  const from = positionOf(c.req.query('cursor'));
  const address = (position: number): string =>
    `${service.origin}${c.req.path}?${new URLSearchParams({ ...filter, page_size: String(size), cursor: cursorOf(position) })}`;
  return {
    count: items.length,
    next: from + size < items.length ? address(from + size) : null,
    previous: from > 0 ? address(Math.max(0, from - size)) : null,
    results: items.slice(from, from + size).map(show),
  };
}
