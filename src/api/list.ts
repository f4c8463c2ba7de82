import type { Contract } from '../contract/contract.ts';
import { RESOURCE_OF } from '../contract/field-names.ts';
import { findId } from '../contract/fields.ts';
import type { JsonObject } from '../contract/json.ts';
import type { ListLeaf } from '../contract/leaves.ts';
import { UnknownShape } from '../contract/unknown-shape.ts';
import { ShapeError } from '../errors.ts';
import { Paged } from '../output/paged.ts';
import type { CallOptions } from './call.ts';
import type { ListOperation, PagedList } from './fetch-page.ts';
import type { Http } from './http.ts';
import { type Page, readPages } from './page-reader.ts';

/**
 * Lists every item, and holds two pages in memory at most. Reading it throws
 * ShapeError for a list that cannot be read to its end; the first page is not yielded before it is known how the list continues.
 * @param resource the plural resource name, as the spec spells it
 */
export function listAll(
  http: Http,
  operation: ListOperation,
  resource: string,
  options: CallOptions = {},
): Paged<JsonObject> {
  const { leaf } = operation;
  const list: PagedList = {
    operation,
    resource,
    place: http.contract.items(leaf),
    rule: { ...nextOf(http.contract, leaf), extent: 'list', takesMessage: false },
    idOf: (item) => listedId(item, leaf, http.contract),
    options: () => options,
  };
  return new Paged(itemsOf(readPages(http, list)));
}

/** Returns how the contract says that the next page of a list is requested. */
export function nextOf(contract: Contract, leaf: ListLeaf): Pick<PagedList['rule'], 'next' | 'isOverride'> {
  return { next: contract.next(leaf), isOverride: contract.leaf(`${leaf}.next`).source === 'override' };
}

/** Returns the id of an item of a list; undefined if it has none, or several that disagree. */
export function listedId(item: JsonObject, list: ListLeaf, contract: Contract): string | undefined {
  try {
    return findId(item, contract, `${RESOURCE_OF[list]}.id`);
  } catch (error) {
    if (error instanceof UnknownShape) return undefined;
    throw error;
  }
}

/** Yields the items of pages, those of the first one only when it is known how the list continues. */
export async function* itemsOf(pages: AsyncIterable<Page>): AsyncGenerator<readonly JsonObject[]> {
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
