import { valueAt } from '../contract/announcements.ts';
import type { JsonObject } from '../contract/json.ts';
import { PageProgress } from '../contract/page-progress.ts';
import type { ApiResponse } from './api-response.ts';
import type { CallOptions, Http } from './http.ts';
import { type FetchedPage, fetchPage, type ListOperation, type PagedList, pathOfLink, pathWith } from './list-page.ts';
import { ListReader } from './list-reader.ts';

/** One page of a list that the caller reads page by page. */
export interface Page {
  readonly items: readonly JsonObject[];
  readonly response: ApiResponse;
  /** Whether a link leads to another page, which is requested when the consumer asks for it. */
  readonly hasNext: boolean;
  /** The next link if it leads back to an earlier page. Such a link is not followed. */
  readonly loopsBackTo: string | undefined;
  /** What announces another page, if no link leads to it. */
  readonly unfollowableKey: string | undefined;
}

/**
 * Reads a list page by page as far as the pages are linked, or as the contract says how the next one is requested
 * (assumption `list.next`). The consumer decides what to do about a page that continues in another way.
 * @param options called before each page, so that limits can depend on the current time
 * @throws ShapeError for a list that cannot be read, or a next page outside the base URL
 */
export async function* listPages(
  http: Http,
  list: PagedList,
  options: () => CallOptions,
): AsyncGenerator<Page, void, void> {
  const seen = new Set<string>();
  for (let link: string | undefined; ; ) {
    const fetched = await fetchPage(http, list, link === undefined ? options() : { ...options(), link });
    const { items, response } = fetched;
    const next = pathAfter(http, list, fetched);
    seen.add(response.path);
    const isLoop = next !== undefined && seen.has(next);
    yield {
      items,
      response,
      hasNext: next !== undefined && !isLoop,
      loopsBackTo: isLoop ? next : undefined,
      unfollowableKey: next === undefined ? findAnnouncement(http, list, fetched) : undefined,
    };
    if (next === undefined || isLoop) return;
    link = next;
  }
}

/** Returns the path and query of the next page, by its link or as the contract says. */
function pathAfter(http: Http, { operation }: PagedList, { answer, signs, response }: FetchedPage): string | undefined {
  const next = http.contract.next(operation.leaf);
  if (next.kind === 'none') return undefined;
  if (next.kind === 'token') {
    const token = valueAt(next.source, answer);
    const isToken = (typeof token === 'string' && token !== '') || typeof token === 'number';
    return isToken ? pathWith(http, response, next.parameter, String(token)) : undefined;
  }
  const stated = next.kind === 'link' ? valueAt(next.source, answer) : undefined;
  const link = typeof stated === 'string' && stated !== '' ? stated : signs.links[0]?.value;
  return link === undefined ? undefined : pathOfLink(http, operation, response, link);
}

/** Returns what announces another page, except for the size of the whole list. */
function findAnnouncement(
  http: Http,
  { operation }: PagedList,
  { signs, items, ids }: FetchedPage,
): string | undefined {
  if (http.contract.next(operation.leaf).kind === 'none') return undefined;
  const progress = new PageProgress();
  const own = { ...signs, totals: [] };
  progress.add(ids, 0, own);
  return progress.outlook(own, items.length).certain[0];
}

/**
 * Yields every item of a list, and holds two pages in memory at most (assumptions `list.envelope` and `list.next`).
 * @param resource the plural resource name, as the spec spells it
 * @throws ShapeError as `listPages`, and for a list that cannot be read to its end
 */
export function listAll(
  http: Http,
  operation: ListOperation,
  resource: string,
  options: CallOptions = {},
): AsyncGenerator<JsonObject> {
  return new ListReader(http, { operation, resource }, options).read();
}
