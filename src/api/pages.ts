import { ASSUMPTIONS } from '../contract/assumptions.ts';
import type { JsonObject } from '../contract/json.ts';
import { findUnfollowableKey, findUnreadRest, readList, readNext } from '../contract/lists.ts';
import type { Operation } from '../contract/operations.ts';
import { ShapeError } from '../errors.ts';
import type { ApiResponse } from './api-response.ts';
import type { CallOptions, Http } from './http.ts';

function refused(operation: Operation, answer: ApiResponse, message: string, seen: string): ShapeError {
  return new ShapeError(message, {
    why: `${operation.name} names as its next page: ${seen}`,
    hint: `What was read up to here is not the whole list. Assumed (list.next): ${ASSUMPTIONS['list.next']}.`,
    status: answer.status,
    requestId: answer.requestId,
    details: { operation: operation.name, assumption: 'list.next', seen },
  });
}

async function linkHeader(operation: Operation, answer: ApiResponse): Promise<string | undefined> {
  const { link } = answer.headers;
  if (link === undefined) return undefined;
  const { default: LinkHeader } = await import('http-link-header');
  try {
    return LinkHeader.parse(link).rel('next')[0]?.uri;
  } catch {
    if (!/\bnext\b/i.test(link)) return undefined;
    throw refused(operation, answer, 'The list goes on, but its Link header cannot be read.', link);
  }
}

/**
 * The path and query under which the next page is asked, on the configured origin whatever the link says.
 * A link beside the base path is refused: the token would go to something else on that host.
 */
function pathOfNext(http: Http, operation: Operation, answer: ApiResponse, next: string): string {
  const current = new URL(new URL(http.baseUrl).origin + answer.path);
  if (!URL.canParse(next, current.href)) throw refused(operation, answer, 'The list goes on at no address.', next);
  const target = new URL(next, current);
  if (target.pathname !== current.pathname && !target.pathname.startsWith(`${http.basePath}/`)) {
    throw refused(operation, answer, 'The list goes on outside of the base address.', next);
  }
  return target.pathname + target.search;
}

/** How a list goes on: by a link, in a way that only the caller may know (`sign` is the telling key), or not at all. */
type Further = { readonly link: string } | { readonly sign: string } | undefined;

async function furtherPage(http: Http, operation: Operation, answer: ApiResponse, resource: string): Promise<Further> {
  const next = answer.read((body) => readNext(body, resource)) ?? (await linkHeader(operation, answer));
  if (next !== undefined) return { link: pathOfNext(http, operation, answer, next) };
  const sign = findUnfollowableKey(answer.json(), resource);
  return sign === undefined ? undefined : { sign };
}

/** One answer of a list. */
export interface Page {
  readonly items: readonly JsonObject[];
  readonly response: ApiResponse;
  /** Whether a link leads on; the next page is asked when it is pulled. */
  readonly hasNext: boolean;
  /** The link where it leads back to a page that was there before, so that it is not followed. */
  readonly loopsBackTo: string | undefined;
  /** The key that tells of further pages where no link leads to them. */
  readonly unfollowableKey: string | undefined;
}

/**
 * The pages of a list, one in memory at a time (assumption `list.next`).
 * @param resource the plural name of what is listed, as the service spells it
 * @param options asked before every page, so that its limits may depend on the moment
 * @param read finds the items in a body
 * @throws ShapeError for a list that cannot be read, or a page that leads elsewhere
 */
export async function* listPages(
  http: Http,
  operation: Operation,
  resource: string,
  options: () => CallOptions,
  read: (body: unknown) => readonly JsonObject[] = (body) => readList(body, resource),
): AsyncGenerator<Page, void, void> {
  const seen = new Set<string>();
  for (let link: string | undefined; ; ) {
    const answer = await http.call(operation, link === undefined ? options() : { ...options(), link });
    const items = answer.read(read);
    const further = await furtherPage(http, operation, answer, resource);
    const next = further && 'link' in further ? further.link : undefined;
    seen.add(answer.path);
    const isCircle = next !== undefined && seen.has(next);
    yield {
      items,
      response: answer,
      hasNext: next !== undefined && !isCircle,
      loopsBackTo: isCircle ? next : undefined,
      unfollowableKey: further && 'sign' in further ? further.sign : undefined,
    };
    if (next === undefined || isCircle) return;
    link = next;
  }
}

/**
 * Every item of a list, page after page, one page in memory at a time (assumptions `list.envelope` and `list.next`).
 * @param resource the plural name of what is listed, as the service spells it
 * @throws ShapeError as `listPages` does, and for a list that goes on without a link or round in a circle
 */
export async function* listAll(
  http: Http,
  operation: Operation,
  resource: string,
  options: CallOptions = {},
): AsyncGenerator<JsonObject> {
  let pages = 0;
  for await (const page of listPages(http, operation, resource, () => options)) {
    const { items, response: answer, hasNext: linked, loopsBackTo: circle, unfollowableKey: unlinked } = page;
    pages += 1;
    const sign = unlinked === undefined ? undefined : `the key ${unlinked}`;
    const rest =
      sign ??
      (pages === 1 && !linked && circle === undefined
        ? findUnreadRest(answer.json(), resource, items.length)
        : undefined);
    if (rest !== undefined) {
      throw refused(operation, answer, 'The list goes on in a way that the tool cannot follow.', rest);
    }
    yield* items;
    if (circle !== undefined) throw refused(operation, answer, 'The list goes round in a circle.', circle);
  }
}
