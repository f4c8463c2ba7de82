import { invalidInput } from './problem.ts';
import type { Service, ServiceContext } from './service.ts';
import { MAX_PAGE_SIZE } from './settings.ts';

interface Page<Item> {
  readonly count: number;
  readonly next: string | null;
  readonly previous: string | null;
  readonly results: Item[];
}

interface PageOptions<Item, Public> {
  /** Converts an item to its public form. */
  readonly toPublic: (item: Item) => Public;
  /** The query parameters that filtered the items, for the URLs of the neighboring pages. */
  readonly filter?: Readonly<{ [parameter: string]: string }>;
}

function toCursor(index: number): string {
  return Buffer.from(`from:${index}`).toString('base64url');
}

function parseCursor(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  const text = Buffer.from(cursor, 'base64url').toString('utf8');
  const digits = /^from:(0|[1-9]\d{0,14})$/.exec(text)?.[1];
  if (digits === undefined) throw invalidInput([{ path: 'cursor', message: 'is not a cursor of this service' }]);
  return Number(digits);
}

/** The `page_size` of a request, or else the setting. @throws Problem 422 when it is out of bounds */
export function pageSizeOf(service: Service, c: ServiceContext): number {
  if (c.env.shaped?.isUnpaged) return Number.MAX_SAFE_INTEGER;
  const text = c.req.query('page_size');
  if (text === undefined) return service.store.world.settings.page_size;
  const size = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (size < 1 || size > MAX_PAGE_SIZE) {
    throw invalidInput([{ path: 'page_size', message: `must be a whole number from 1 to ${MAX_PAGE_SIZE}` }]);
  }
  return size;
}

/** Returns the items that the list shows: a stale one lacks the newest. */
export function visibleItems<Item extends { readonly created_at: string }>(
  { scheduler }: Service,
  c: ServiceContext,
  items: Iterable<Item>,
): Item[] {
  const quirk = c.get('quirk');
  if (quirk?.kind !== 'stale') return [...items];
  const newest = scheduler.now() - quirk.ms;
  return [...items].filter(({ created_at }) => Date.parse(created_at) <= newest);
}

/**
 * Returns the page of a list that a request asks for. The spec (§4.7) does not define lists; this service pages by an
 * opaque cursor and links the neighboring pages by absolute URLs.
 * @param items in a stable order, with new ones at the end
 */
export function pageOf<Item extends { readonly created_at: string }, Public>(
  service: Service,
  c: ServiceContext,
  items: Iterable<Item>,
  { toPublic, filter = {} }: PageOptions<Item, Public>,
): Page<Public> {
  const all = visibleItems(service, c, items);
  const size = pageSizeOf(service, c);
  const start = parseCursor(c.req.query('cursor'));
  const urlOf = (index: number): string =>
    `${service.origin}${c.req.path}?${new URLSearchParams({ ...filter, page_size: String(size), cursor: toCursor(index) })}`;
  return {
    count: all.length,
    next: start + size < all.length ? urlOf(start + size) : null,
    previous: start > 0 ? urlOf(Math.max(0, start - size)) : null,
    results: all.slice(start, start + size).map(toPublic),
  };
}
