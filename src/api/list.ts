import type { JsonObject } from '../contract/json.ts';
import { ShapeError } from '../errors.ts';
import { Paged } from '../output/paged.ts';
import type { CallOptions } from './call.ts';
import type { ListOperation, Page } from './fetch-page.ts';
import type { Http } from './http.ts';
import { PageReader } from './page-reader.ts';

/**
 * Lists every item, and holds two pages in memory at most (assumptions `list.envelope` and `list.next`). Reading it throws
 * ShapeError for a list that cannot be read to its end; the items of a page are not yielded before it is known how the list continues.
 * @param resource the plural resource name, as the spec spells it
 */
export function listAll(
  http: Http,
  operation: ListOperation,
  resource: string,
  options: CallOptions = {},
): Paged<JsonObject> {
  return new Paged(itemsOf(new PageReader(http, { operation, resource }, () => options).read()));
}

/** Yields the items of pages, those of the first one only when it is known how the list continues. */
export async function* itemsOf(pages: AsyncIterable<Page>): AsyncGenerator<readonly JsonObject[]> {
  let first: readonly JsonObject[] | undefined;
  try {
    for await (const { items, hasMore } of pages) {
      if (first !== undefined) yield first;
      const isFirst = first === undefined && hasMore;
      first = isFirst ? items : undefined;
      if (!isFirst) yield items;
    }
  } catch (error) {
    // A page before a failure tells the consumer that the list exists. A refused list has no items.
    if (first !== undefined && !(error instanceof ShapeError)) yield first;
    throw error;
  }
  if (first !== undefined) yield first;
}
