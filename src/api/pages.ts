import { ASSUMPTIONS } from '../contract/assumptions.ts';
import type { JsonObject } from '../contract/json.ts';
import { findUnfollowableKey, findUnreadRest, readList, readNext } from '../contract/lists.ts';
import type { Operation } from '../contract/operations.ts';
import { ShapeError } from '../errors.ts';
import type { ApiResponse } from './api-response.ts';
import type { CallOptions, Http } from './http.ts';

/** A list that the service serves in pages. */
export interface PagedList {
  readonly operation: Operation;
  /** The plural resource name, as the service spells it. */
  readonly resource: string;
  /** Finds the items in a body; `readList` by default. */
  readonly readItems?: (body: unknown) => readonly JsonObject[];
}

/** One page of a list. */
export interface Page {
  readonly items: readonly JsonObject[];
  readonly response: ApiResponse;
  /** Whether a link leads to another page, which is requested when the consumer asks for it. */
  readonly hasNext: boolean;
  /** The next link if it leads back to an earlier page. Such a link is not followed. */
  readonly loopsBackTo: string | undefined;
  /** The key that announces another page, if no link leads to it. */
  readonly unfollowableKey: string | undefined;
}

/**
 * Reads a list page by page (assumption `list.next`).
 * @param options called before each page, so that limits can depend on the current time
 * @throws ShapeError for a list that cannot be read, or a next page outside the base URL
 */
export async function* listPages(
  http: Http,
  list: PagedList,
  options: () => CallOptions,
): AsyncGenerator<Page, void, void> {
  const { operation, resource, readItems = (body: unknown) => readList(body, resource) } = list;
  const seen = new Set<string>();
  for (let link: string | undefined; ; ) {
    const response = await http.call(operation, link === undefined ? options() : { ...options(), link });
    const items = response.read(readItems);
    const next = response.read((body) => readNext(body, resource)) ?? (await readLinkHeader(operation, response));
    const nextPath = next === undefined ? undefined : pathOfNext(http, operation, response, next);
    seen.add(response.path);
    const isLoop = nextPath !== undefined && seen.has(nextPath);
    yield {
      items,
      response,
      hasNext: nextPath !== undefined && !isLoop,
      loopsBackTo: isLoop ? nextPath : undefined,
      unfollowableKey: next === undefined ? findUnfollowableKey(response.json(), resource) : undefined,
    };
    if (nextPath === undefined || isLoop) return;
    link = nextPath;
  }
}

/**
 * Yields every item of a list, and holds one page in memory at a time (assumptions `list.envelope` and `list.next`).
 * @param resource the plural resource name, as the service spells it
 * @throws ShapeError as `listPages`, and for a list that continues without a link, or whose links form a loop
 */
export async function* listAll(
  http: Http,
  operation: Operation,
  resource: string,
  options: CallOptions = {},
): AsyncGenerator<JsonObject> {
  let isFirst = true;
  for await (const page of listPages(http, { operation, resource }, () => options)) {
    const { items, response, hasNext, loopsBackTo, unfollowableKey } = page;
    const isOnlyPage = isFirst && !hasNext && loopsBackTo === undefined;
    const unread = isOnlyPage ? findUnreadRest(response.json(), resource, items.length) : undefined;
    const sign = unfollowableKey === undefined ? unread : `the key ${unfollowableKey}`;
    if (sign !== undefined) {
      throw incompleteListError(operation, response, 'The list continues in a way that the tool cannot follow.', sign);
    }
    yield* items;
    if (loopsBackTo !== undefined) {
      throw incompleteListError(operation, response, 'The pages of the list form a circle.', loopsBackTo);
    }
    isFirst = false;
  }
}

async function readLinkHeader(operation: Operation, response: ApiResponse): Promise<string | undefined> {
  const { link } = response.headers;
  if (link === undefined) return undefined;
  const { default: LinkHeader } = await import('http-link-header');
  try {
    return LinkHeader.parse(link).rel('next')[0]?.uri;
  } catch {
    if (!/\bnext\b/i.test(link)) return undefined;
    throw incompleteListError(operation, response, 'The list continues, but its Link header cannot be read.', link);
  }
}

/**
 * Returns the path and query of the next page. The origin of the link is ignored: the request always goes to the
 * configured origin. A link outside the base path is rejected, because it would send the token to another application
 * on that host.
 */
function pathOfNext(http: Http, operation: Operation, response: ApiResponse, next: string): string {
  const current = new URL(new URL(http.baseUrl).origin + response.path);
  if (!URL.canParse(next, current.href)) {
    throw incompleteListError(operation, response, 'The list continues, but its next link is not an address.', next);
  }
  const target = new URL(next, current);
  if (target.pathname !== current.pathname && !target.pathname.startsWith(`${http.basePath}/`)) {
    throw incompleteListError(operation, response, 'The next page of the list is outside of the base URL.', next);
  }
  return target.pathname + target.search;
}

function incompleteListError(operation: Operation, response: ApiResponse, message: string, seen: string): ShapeError {
  return new ShapeError(message, {
    why: `${operation.name} names as its next page: ${seen}`,
    hint: `The items read so far are not the whole list. Assumed (list.next): ${ASSUMPTIONS['list.next']}.`,
    status: response.status,
    requestId: response.requestId,
    details: { operation: operation.name, assumption: 'list.next', seen },
  });
}
