import type { JsonObject } from '../contract/json.ts';
import type { ListLeaf } from '../contract/leaves.ts';
import { parseLinkHeader } from '../contract/link-header.ts';
import { pairAsObject, readList } from '../contract/lists.ts';
import type { Operation } from '../contract/operations.ts';
import { type PageResponse, type PageSigns, readSigns } from '../contract/page-signs.ts';
import type { ApiResponse } from './api-response.ts';
import type { Http } from './http.ts';
import type { CallOptions } from './http-options.ts';
import { incompleteListError } from './incomplete-list.ts';

/** A list with more pages, or with more empty ones in a row, is endless. */
export const MAX_PAGES = 10_000;
export const MAX_EMPTY_PAGES = 100;

/** The operation of a list. */
export type ListOperation = Operation & { readonly leaf: ListLeaf };

/** A list that the service serves in pages. */
export interface PagedList {
  readonly operation: ListOperation;
  /** The plural resource name, as the spec spells it. */
  readonly resource: string;
  /** Finds the items in a body; `readList` by default. */
  readonly readItems?: (body: unknown) => readonly JsonObject[];
  /** Whether 204 without a body says that there is nothing, rather than that there is no list. */
  readonly isKnown?: () => boolean;
  /** `MAX_PAGES` by default. */
  readonly maxPages?: number | undefined;
}

/** A page as the service sent it. */
export interface FetchedPage {
  readonly items: readonly JsonObject[];
  readonly response: ApiResponse;
  readonly pageResponse: PageResponse;
  readonly signs: PageSigns;
}

/**
 * Requests a page of a list.
 * @param options with a `link` for any page but the first
 * @throws ShapeError for a response that is no list
 */
export async function fetchPage(http: Http, list: PagedList, options: CallOptions): Promise<FetchedPage> {
  const { operation, resource } = list;
  const response = await http.call(operation, options);
  const place = http.contract.items(operation.leaf);
  const { readItems = (body: unknown) => readList(body, resource, place) } = list;
  if (list.isKnown?.()) response.acceptNothing();
  const items = response.read(readItems);
  const pageResponse: PageResponse = {
    body: pairAsObject(response.json()),
    headers: response.headers,
    status: response.status,
    itemCount: items.length,
    lastItem: items.at(-1),
    headerLinks: await readLinkHeader(operation, response),
  };
  return { items, response, pageResponse, signs: readSigns(pageResponse) };
}

async function readLinkHeader(operation: Operation, response: ApiResponse): Promise<Readonly<Record<string, string>>> {
  const links = await parseLinkHeader(response.headers.link);
  if (links) {
    // The last page may link the last page, which is itself.
    const { last, ...others } = links;
    return last === undefined || queryOf(last) === queryOf(response.path) ? others : links;
  }
  throw incompleteListError({
    operation,
    response,
    message: 'The list continues, but its Link header cannot be read.',
    seen: 'header.link',
  });
}

function queryOf(address: string): string {
  return URL.canParse(address, 'http://service') ? new URL(address, 'http://service').search : address;
}
