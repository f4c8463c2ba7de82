import { type PageAnswer, type PageSigns, readSigns } from '../contract/announcements.ts';
import { UnknownShape } from '../contract/assumptions.ts';
import type { Contract } from '../contract/contract.ts';
import { findId } from '../contract/fields.ts';
import type { JsonObject } from '../contract/json.ts';
import type { FieldLeaf, ListLeaf } from '../contract/leaves.ts';
import { parseLinkHeader } from '../contract/link-header.ts';
import { readList } from '../contract/lists.ts';
import { isLink, type Step, sourceValue } from '../contract/next-page.ts';
import type { Operation } from '../contract/operations.ts';
import { identify } from '../contract/page-progress.ts';
import { ErrorInSuccessBody, PartnerctlError, ShapeError } from '../errors.ts';
import type { ApiResponse } from './api-response.ts';
import type { CallOptions, Http } from './http.ts';

/** The operation of a list. */
export type ListOperation = Operation & { readonly leaf: ListLeaf };

/** A list that the service serves in pages. */
export interface PagedList {
  readonly operation: ListOperation;
  /** The plural resource name, as the spec spells it. */
  readonly resource: string;
  /** Finds the items in a body; `readList` by default. */
  readonly readItems?: (body: unknown) => readonly JsonObject[];
}

/** A page as the service sent it. */
export interface FetchedPage {
  readonly items: readonly JsonObject[];
  /** What identifies each item; see `identify`. */
  readonly ids: readonly string[];
  readonly response: ApiResponse;
  readonly answer: PageAnswer;
  readonly signs: PageSigns;
}

const ID_LEAVES: Readonly<Record<ListLeaf, FieldLeaf>> = {
  'spaces.list': 'space.id',
  'agents.list': 'agent.id',
  'cron_jobs.list': 'cron_job.id',
  'messages.history': 'message.id',
};

/** Returns the id of a list item; undefined if it has none, or several that disagree. */
export function itemId(item: JsonObject, contract: Contract, { operation }: PagedList): string | undefined {
  try {
    return findId(item, contract, ID_LEAVES[operation.leaf]);
  } catch (error) {
    if (error instanceof UnknownShape) return undefined;
    throw error;
  }
}

/**
 * Requests a page of a list.
 * @param options with a `link` for any page but the first
 * @throws ShapeError for a response that is no list
 */
export async function fetchPage(http: Http, list: PagedList, options: CallOptions): Promise<FetchedPage> {
  const { operation, resource } = list;
  const response = await http.call(operation, options);
  const path = http.contract.items(operation.leaf);
  const { readItems = (body: unknown) => readList(body, resource, path) } = list;
  const items = response.read(readItems);
  const answer: PageAnswer = {
    body: response.json(),
    headers: response.headers,
    status: response.status,
    itemCount: items.length,
    headerLinks: await readLinkHeader(operation, response),
  };
  const ids = identify(items, (item) => itemId(item, http.contract, list));
  return { items, ids, response, answer, signs: readSigns(answer) };
}

async function readLinkHeader(operation: Operation, response: ApiResponse): Promise<Readonly<Record<string, string>>> {
  const links = await parseLinkHeader(response.headers.link);
  if (links) return links;
  throw incompleteListError({
    operation,
    response,
    message: 'The list continues, but its Link header cannot be read.',
    seen: 'header.link',
  });
}

/**
 * Returns the path and query of a link to the next page. The origin of the link is ignored: the request always goes to
 * the configured origin. A link outside the base path is rejected, because it would send the token to another
 * application on that host.
 * @throws ShapeError
 */
export function pathOfLink(http: Http, operation: Operation, response: ApiResponse, link: string): string {
  const current = currentUrl(http, response);
  const isWeb = URL.canParse(link, current.href) && /^https?:$/.test(new URL(link, current).protocol);
  if (!isWeb) {
    const message = 'The list continues, but its next link is not an address.';
    throw incompleteListError({ operation, response, message, seen: `a text of ${link.length} characters` });
  }
  const target = new URL(link, current);
  // Behind a proxy that adds the base path, a service may link the path that it sees itself.
  if (http.basePath + target.pathname === current.pathname) target.pathname = current.pathname;
  if (target.pathname !== current.pathname && !target.pathname.startsWith(`${http.basePath}/`)) {
    const message = 'The next page of the list is outside of the base URL.';
    throw incompleteListError({ operation, response, message, seen: `a link to ${target.pathname}` });
  }
  return target.pathname + target.search;
}

/** Returns the path and query of a response's own request with a query parameter set. */
export function pathWith(http: Http, response: ApiResponse, parameter: string, value: string): string {
  const url = currentUrl(http, response);
  url.searchParams.set(parameter, value);
  return url.pathname + url.search;
}

/**
 * Returns the path and query of a page, undefined if the way needs an id that the last item lacks.
 * @param from the page before it, and the first page, whose query it keeps
 * @throws ShapeError for a link outside of the base URL
 */
export function pathOfStep(
  http: Http,
  list: PagedList,
  { way, number }: Step,
  from: { readonly page: FetchedPage; readonly first: FetchedPage },
): string | undefined {
  const { page, first } = from;
  if (isLink(way)) return pathOfLink(http, list.operation, page.response, String(sourceValue(way, page.answer)));
  const last = page.items.at(-1);
  const id = way.kind === 'after' && last ? itemId(last, http.contract, list) : undefined;
  const value = way.kind === 'token' ? sourceValue(way, page.answer) : way.kind === 'after' ? id : number;
  return value === undefined ? undefined : pathWith(http, first.response, way.parameter, String(value));
}

function currentUrl(http: Http, response: ApiResponse): URL {
  return new URL(new URL(http.baseUrl).origin + response.path);
}

/** Why a list cannot be read to its end. */
export interface IncompleteList {
  readonly operation: Operation;
  readonly response: ApiResponse;
  readonly message: string;
  /** What speaks of more: where it is and of what type, not its value. */
  readonly seen: string;
  /** The parameters that were tried. */
  readonly tried?: readonly string[];
  /** What to do before the commands that settle how the list continues. */
  readonly hint?: string;
}

/** Returns the error for a list that cannot be read to its end, with the commands that settle how it continues. */
export function incompleteListError({
  operation,
  response,
  message,
  seen,
  tried = [],
  hint,
}: IncompleteList): ShapeError {
  const leaf = `${operation.leaf}.next`;
  const { status, requestId } = response;
  const attempts = tried.length === 0 ? '' : ` No new items came with ${tried.join(', ')}.`;
  return new ShapeError(message, {
    why: `${operation.name} responded with ${status} and announces more with ${seen}.${attempts}`,
    hint: hint === undefined ? fixHint(operation) : `${hint}\n${fixHint(operation)}`,
    status,
    requestId,
    details: { operation: operation.name, assumption: 'list.next', leaf, seen, ...(tried.length > 0 && { tried }) },
  });
}

function fixHint(operation: Operation): string {
  const leaf = `${operation.leaf}.next`;
  return [
    'What was read is not the whole list. If you know how the next page is requested, run:',
    `partnerctl contract set ${leaf} 'page:<parameter>' (or 'offset:…', 'after:…', 'link:<path>', 'token:<path>:<parameter>')`,
    `If the first page is the whole list, run: partnerctl contract set ${leaf} none`,
  ].join('\n');
}

/** Statuses with which a service rejects a parameter that it does not know, or a page that it does not have. */
const REJECTIONS: ReadonlySet<number | undefined> = new Set([400, 404, 409, 410, 412, 416, 422, 500, 501]);

/** Returns the status with which the service itself rejected a request for a page; undefined for any other error. */
export function rejectedStatus(error: unknown): number | undefined {
  if (!(error instanceof PartnerctlError) || error.info.fromGateway) return undefined;
  const { status } = error.info;
  if (error instanceof ErrorInSuccessBody) return status;
  return !(error instanceof ShapeError) && REJECTIONS.has(status) ? status : undefined;
}
