import { invalidInput } from './input.ts';
import { MAX_PAGE_SIZE } from './resources.ts';
import type { Service, ServiceContext } from './service.ts';
import { settingsOf } from './store.ts';

/** A whole number in the query. @throws Problem 422 when it is none, or out of bounds */
function numberOf(c: ServiceContext, name: string, range: { min: number; max: number; fallback: number }): number {
  const { min, max, fallback } = range;
  const text = c.req.query(name) ?? String(fallback);
  const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw invalidInput([{ path: name, message: `must be a whole number from ${min} to ${max}` }]);
}

/** The `page_size` of a request, or else the setting. */
export function pageSizeOf({ store }: Service, c: ServiceContext): number {
  return numberOf(c, 'page_size', { min: 1, max: MAX_PAGE_SIZE, fallback: settingsOf(store).page_size });
}

/** The rows that a list shows: with the fault `stale`, the newest are missing. */
export function visibleRows<Row extends { readonly created_at: string }>(
  { clock }: Service,
  c: ServiceContext,
  rows: readonly Row[],
): readonly Row[] {
  const hiddenMs = c.get('hiddenMs');
  if (hiddenMs === undefined) return rows;
  return rows.filter(({ created_at }) => Date.parse(created_at) <= clock.now() - hiddenMs);
}

/**
 * The page of a list that a request asks for. The spec (§4.7) does not define lists; here the cursor is the index of
 * the first item, and the next page is linked by an absolute URL.
 * @param rows in a stable order, with new ones at the end
 */
export function pageOf<Row extends { readonly created_at: string }>(
  service: Service,
  c: ServiceContext,
  rows: readonly Row[],
) {
  const all = visibleRows(service, c, rows);
  const size = pageSizeOf(service, c);
  const start = numberOf(c, 'cursor', { min: 0, max: 999_999_999, fallback: 0 });
  const end = start + size;
  const query = new URLSearchParams({ ...c.req.query(), page_size: String(size), cursor: String(end) });
  const next = end < all.length ? `${service.origin}${c.req.path}?${query}` : null;
  return { count: all.length, next, results: all.slice(start, end) };
}
