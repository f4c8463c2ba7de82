import { readList } from '../contract/body.ts';
import type { JsonObject } from '../contract/json.ts';
import type { ListLeaf } from '../contract/leaves.ts';
import type { Operation } from '../contract/operations.ts';
import type { PageResponse } from '../contract/page-signs.ts';
import type { Progress, Verdict } from '../contract/paging.ts';
import { ErrorInSuccessBody, PartnerctlError, ShapeError } from '../errors.ts';
import type { ApiResponse } from './api-response.ts';
import type { CallOptions } from './call.ts';
import type { Http } from './http.ts';
import { incompleteListError } from './incomplete-list.ts';

/** The operation of a list. */
export type ListOperation = Operation & { readonly leaf: ListLeaf };

/** A list that the service serves in pages. */
export interface PagedList {
  readonly operation: ListOperation;
  /** The plural resource name, as the spec spells it. */
  readonly resource: string;
  /** `MAX_PAGES` by default. */
  readonly maxPages?: number | undefined;
  /**
   * Set for a history, which is read as far as it can be: known items are dropped, and a page without new ones ends it.
   * Returns the request for what comes after an item, if the service takes its id.
   */
  readonly after?: (id: string) => CallOptions | undefined;
  readonly extent?: Progress['extent'];
  /** Finds the items in a body; `readList` by default. */
  readonly readItems?: (body: unknown) => readonly JsonObject[];
  /** Whether 204 without a body says that there is nothing, rather than that there is no list. */
  readonly mayBeEmpty?: boolean;
}

/** A page of a list. */
export interface Page {
  /** The items that no earlier page had. */
  readonly items: readonly JsonObject[];
  readonly response: ApiResponse;
  /** Whether another page is requested when the consumer asks for it. It may have nothing new. */
  readonly hasMore: boolean;
  /** Whether the service says that this page ends the list. */
  readonly isDeclaredEnd: boolean;
  /** What announces more than can be requested; only of a history. */
  readonly unexplained?: Extract<Verdict, { kind: 'unexplained' }> | undefined;
}

/** A page as the service sent it. */
export interface FetchedPage {
  readonly items: readonly JsonObject[];
  readonly response: ApiResponse;
  readonly paging: PageResponse;
}

/** Requests a page of a list. @throws as a failed call; ShapeError for a response that is no list */
export async function fetchPage(http: Http, list: PagedList, options: CallOptions): Promise<FetchedPage> {
  const { operation, resource, mayBeEmpty } = list;
  const response = await http.call(operation, options);
  if (mayBeEmpty) response.acceptNothing();
  const place = http.contract.items(operation.leaf);
  const items = response.read(list.readItems ?? ((body) => readList(body, resource, place)));
  const headerLinks = await readLinkHeader(response);
  if (headerLinks === undefined) {
    const message = 'The list continues, but its Link header cannot be read.';
    throw incompleteListError({ operation, response, message, seen: 'header.link' });
  }
  const { headers, status } = response;
  const [itemCount, lastItem] = [items.length, items.at(-1)];
  return { items, response, paging: { body: response.json(), headers, status, itemCount, lastItem, headerLinks } };
}

/**
 * Reads the Link header (RFC 8288) of a list.
 * @returns the URLs of the next page and, if this is not it, of the last one; undefined if a header that mentions a next page
 *   cannot be parsed
 */
async function readLinkHeader({
  headers,
  path,
}: Pick<ApiResponse, 'headers' | 'path'>): Promise<PageResponse['headerLinks'] | undefined> {
  const header = headers.link;
  if (header === undefined) return {};
  const { default: LinkHeader } = await import('http-link-header');
  try {
    const links = LinkHeader.parse(header);
    // Some services link a next page from the last one, marked `results="false"`.
    const find = (relation: string) => links.rel(relation).find(({ results }) => results !== 'false')?.uri;
    const [next, first, last] = [find('next'), find('first'), find('last')];
    const isLast = last === undefined || last === first || queryOf(last) === queryOf(path);
    return { ...(next !== undefined && { next }), ...(!isLast && { last }) };
  } catch {
    return /\bnext\b/i.test(header) ? undefined : {};
  }
}

function queryOf(address: string): string {
  return URL.canParse(address, 'http://service') ? new URL(address, 'http://service').search : address;
}

/** Statuses with which a service rejects a parameter that it does not know, or a page that it does not have. */
const REJECTIONS: readonly number[] = [400, 404, 409, 410, 412, 416, 422, 500, 501];

/**
 * Returns the status with which the service itself rejected a request for a page; undefined for any other error.
 * @param others further statuses that count as a rejection
 */
export function rejectedStatus(error: unknown, others: readonly number[] = []): number | undefined {
  if (!(error instanceof PartnerctlError) || error.info.fromGateway) return undefined;
  const { status } = error.info;
  if (error instanceof ErrorInSuccessBody) return status;
  const isRejected = status !== undefined && [...REJECTIONS, ...others].includes(status);
  return isRejected && !(error instanceof ShapeError) ? status : undefined;
}
