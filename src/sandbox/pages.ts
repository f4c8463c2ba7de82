import { invalidInput } from './input.ts';
import { MAX_PAGE_SIZE } from './resources.ts';
import type { Service, ServiceContext } from './service.ts';
import { settingsOf } from './store.ts';

function parseCursor(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  const index = /^from:(\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString())?.[1];
  if (index !== undefined) return Number(index);
  throw invalidInput([{ path: 'cursor', message: 'is not a cursor of this service' }]);
}

/** The `page_size` of a request, or else the setting. @throws Problem 422 when it is out of bounds */
export function pageSizeOf({ store }: Service, c: ServiceContext): number {
  const text = c.req.query('page_size');
  if (text === undefined) return settingsOf(store).page_size;
  const size = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (size >= 1 && size <= MAX_PAGE_SIZE) return size;
  throw invalidInput([{ path: 'page_size', message: `must be a whole number from 1 to ${MAX_PAGE_SIZE}` }]);
}

/** The rows that a list shows: with the fault `stale`, the newest are missing. */
export function visibleRows<Row extends { readonly created_at: string }>(
  { clock }: Service,
  c: ServiceContext,
  rows: readonly Row[],
): readonly Row[] {
  const quirk = c.get('quirk');
  if (quirk?.kind !== 'stale') return rows;
  return rows.filter(({ created_at }) => Date.parse(created_at) <= clock.now() - quirk.ms);
}

/**
 * The page of a list that a request asks for. The spec (§4.7) does not define lists; this service pages by an opaque cursor,
 * and links the neighboring pages by absolute URLs.
 * @param rows in a stable order, with new ones at the end
 */
export function pageOf<Row extends { readonly created_at: string }, Public>(
  service: Service,
  c: ServiceContext,
  rows: readonly Row[],
  toPublic: (row: Row) => Public,
) {
  const all = visibleRows(service, c, rows);
  const size = pageSizeOf(service, c);
  const start = parseCursor(c.req.query('cursor'));
  const urlOf = (index: number): string => {
    const cursor = Buffer.from(`from:${index}`).toString('base64url');
    const query = new URLSearchParams({ ...c.req.query(), page_size: String(size), cursor });
    return `${service.origin}${c.req.path}?${query}`;
  };
  return {
    count: all.length,
    next: start + size < all.length ? urlOf(start + size) : null,
    previous: start > 0 ? urlOf(Math.max(0, start - size)) : null,
    results: all.slice(start, start + size).map(toPublic),
  };
}
