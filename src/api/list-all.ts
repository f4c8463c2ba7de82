import { findEarlier } from '../contract/earlier-page.ts';
import type { JsonObject } from '../contract/json.ts';
import type { PageSigns } from '../contract/page-signs.ts';
import { Paged } from '../output/paged.ts';
import { fetchPage, type ListOperation, type PagedList } from './fetch-page.ts';
import type { Http } from './http.ts';
import type { CallOptions } from './http-options.ts';
import { incompleteListError } from './incomplete-list.ts';

/** Whether nothing in the response speaks of more than the items on the page. */
function isWhole({ links, tokens, flags, sizes, totals, pageTotals, partial, unknown }: PageSigns, items: number) {
  const saysNothing = links.length + tokens.length + partial.length + unknown.length === 0;
  const saysMore = flags.some(({ value }) => value) || sizes.some(({ value }) => value <= items);
  const isCounted = totals.every(({ value }) => value === items) && pageTotals.every(({ value }) => value <= 1);
  return saysNothing && !saysMore && isCounted;
}

/**
 * Lists every item, and holds two pages in memory at most (assumptions `list.envelope` and `list.next`). Reading it throws
 * ShapeError for a list that cannot be read to its end.
 * @param resource the plural resource name, as the spec spells it
 */
export function listAll(
  http: Http,
  operation: ListOperation,
  resource: string,
  options: CallOptions = {},
): Paged<JsonObject> {
  return new Paged(readPages(http, { operation, resource }, options));
}

async function* readPages(http: Http, list: PagedList, options: CallOptions): AsyncGenerator<readonly JsonObject[]> {
  const { operation } = list;
  const page = await fetchPage(http, list, options);
  const isSet = http.contract.leaf(`${operation.leaf}.next`).source === 'override';
  const earlier = isSet ? undefined : findEarlier(page.pageResponse.body, page.signs);
  if (earlier?.isCertain) {
    const message = 'The list begins before the first page that the service sends.';
    throw incompleteListError({ operation, response: page.response, message, seen: earlier.path });
  }
  if (!isSet && isWhole(page.signs, page.items.length)) return void (yield page.items);
  const { ListPages } = await import('./list-pages.ts');
  yield* new ListPages(http, list, options).read(page);
}
