import type { Contract } from '../contract/contract.ts';
import { RESOURCE_OF } from '../contract/field-names.ts';
import { fieldsOf } from '../contract/fields.ts';
import { type JsonObject, jsonText } from '../contract/json.ts';
import { ShapeError } from '../errors.ts';
import { Paged } from '../platform/paged.ts';
import type { CallOptions } from './call.ts';
import type { Http } from './http.ts';
import { readItem } from './list-failure.ts';
import { type ListOperation, type Page, readPages } from './pages.ts';

/** How the items of a list are read. */
export interface ItemReader<Item> {
  /** @throws UnknownShape */
  readonly read: (item: JsonObject, contract: Contract) => Item;
  /** What tells items apart. */
  readonly idOf: (item: Item) => string;
}

/**
 * Lists every item, and holds two pages in memory at most. Reading it throws ShapeError for a list that cannot be read to
 * its end; no page is yielded before it is known how the list continues.
 */
export function listAll<Item>(
  http: Http,
  operation: ListOperation,
  { read, idOf }: ItemReader<Item>,
  options: CallOptions = {},
): Paged<Item> {
  const readAll = (items: readonly JsonObject[]) =>
    readItem(operation, () => items.map((item) => read(item, http.contract)));
  return new Paged(
    itemsOf(readPages(http, { operation, extent: 'list', options: () => options, read: readAll, idOf })),
  );
}

/** Lists every item as the service sends it, even if only its id can be read. Reading it throws as `listAll`. */
export function listItems(http: Http, operation: ListOperation, options: CallOptions = {}): Paged<JsonObject> {
  const { leaf } = operation;
  const read = (item: JsonObject) => fieldsOf(item, RESOURCE_OF[leaf], http.contract).id(`${RESOURCE_OF[leaf]}.id`);
  const idOf = (item: JsonObject) => readItem(operation, () => read(item)) ?? jsonText(item);
  return listAll(http, operation, { read: (item) => item, idOf }, options);
}

/** Yields the items of a page when it is known how the list continues after it. */
async function* itemsOf<Item>(pages: AsyncIterable<Page<Item>>): AsyncGenerator<readonly Item[]> {
  let held: readonly Item[] | undefined;
  try {
    for await (const { items } of pages) {
      if (held !== undefined) yield held;
      held = items;
    }
  } catch (error) {
    // A page before a failure tells the consumer that the list exists. A refused list has no items.
    if (held !== undefined && !(error instanceof ShapeError)) yield held;
    throw error;
  }
  if (held !== undefined) yield held;
}
