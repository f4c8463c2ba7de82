import * as v from 'valibot';
import { check } from './input.ts';
import { MAX_PAGE_SIZE } from './rows.ts';
import type { Service, ServiceContext } from './service.ts';
import { settingsOf } from './store.ts';

interface Dated {
  readonly created_at: string;
}

function wholeNumber(min: number, max: number) {
  return v.pipe(v.string(), v.digits(), v.transform(Number), v.number(), v.minValue(min), v.maxValue(max));
}

/** The `page_size` of a query. */
export const pageSize = v.optional(wholeNumber(1, MAX_PAGE_SIZE));

/** The query of a list. The spec (§4.7) does not define pages; here the cursor is the index of the first item. */
export const listQuery = v.object({ page_size: pageSize, cursor: v.optional(wholeNumber(0, 999_999_999)) });

/** The response with a page of such items; `next` is the URL of the next page. */
export function pageSchema<Item extends v.GenericSchema>(item: Item) {
  return v.object({ count: v.number(), next: v.nullable(v.pipe(v.string(), v.url())), results: v.array(item) });
}

/** Whether a row is younger than the `ms` of a fault. */
export function isYounger({ clock }: Service, { created_at }: Dated, ms: number): boolean {
  return Date.parse(created_at) > clock.now() - ms;
}

/**
 * The rows that a read shows. With the fault `stale`, the newest are missing; with `gaps`, every second of them; with
 * `newest_first`, they are in reverse.
 */
export function visibleRows<Row extends Dated>(service: Service, c: ServiceContext, rows: readonly Row[]) {
  let visible = rows;
  for (const view of c.get('views') ?? []) {
    if (view.kind === 'stale') visible = visible.filter((row) => !isYounger(service, row, view.ms));
    if (view.kind === 'gaps')
      visible = visible.filter((row, index) => index % 2 === 0 || !isYounger(service, row, view.ms));
    if (view.kind === 'newest_first') visible = visible.toReversed();
  }
  return visible;
}

/** The page of a list that a request asks for. @param rows in a stable order, with new ones at the end */
export function pageOf<Row extends Dated>(service: Service, c: ServiceContext, rows: readonly Row[]) {
  const { store, origin } = service;
  const { page_size: size = settingsOf(store).page_size, cursor = 0 } = check(listQuery, c.req.query());
  const all = visibleRows(service, c, rows);
  const end = cursor + size;
  const query = new URLSearchParams({ ...c.req.query(), page_size: String(size), cursor: String(end) });
  const next = end < all.length ? `${origin}${c.req.path}?${query}` : null;
  return { count: all.length, next, results: all.slice(cursor, end) };
}
