import type { JsonObject } from '../contract/json.ts';
import { ShapeError } from '../errors.ts';
import { Paged } from '../output/paged.ts';
import type { CallOptions } from './call-request.ts';
import type { ListOperation } from './fetch-page.ts';
import type { Http } from './http.ts';
import { type Page, readPages } from './pages.ts';

/**
 * Lists every item, and holds two pages in memory at most. Reading it throws
 * ShapeError for a list that cannot be read to its end; the first page is not yielded before it is known how the list continues.
 */
export function listAll(http: Http, operation: ListOperation, options: CallOptions = {}): Paged<JsonObject> {
  return new Paged(itemsOf(readPages(http, { operation, extent: 'list', options: () => options })));
}

/** Yields the items of pages, those of the first one only when it is known how the list continues. */
async function* itemsOf(pages: AsyncIterable<Page>): AsyncGenerator<readonly JsonObject[]> {
  let held: readonly JsonObject[] | undefined;
  let isFirst = true;
  try {
    for await (const { items, verdict } of pages) {
      if (held !== undefined) yield held;
      held = isFirst && verdict.kind === 'next' ? items : undefined;
      if (held === undefined) yield items;
      isFirst = false;
    }
  } catch (error) {
    // A page before a failure tells the consumer that the list exists. A refused list has no items.
    if (held !== undefined && !(error instanceof ShapeError)) yield held;
    throw error;
  }
  if (held !== undefined) yield held;
}
