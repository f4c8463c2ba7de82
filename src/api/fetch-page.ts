import { readList } from '../contract/body.ts';
import { isEmptyObject, type JsonObject } from '../contract/json.ts';
import type { ListLeaf } from '../contract/leaves.ts';
import type { Operation, RawOperation } from '../contract/operations.ts';
import type { PageResponse } from '../contract/page-signs.ts';
import type { PagingRule } from '../contract/paging.ts';
import { ErrorInSuccessBody, PartnerctlError, ShapeError } from '../errors.ts';
import type { ApiResponse } from './api-response.ts';
import type { CallOptions } from './call.ts';
import type { Http } from './http.ts';

/** The operation of a list. */
export type ListOperation = Operation & { readonly leaf: ListLeaf };

/** A list that the service serves in pages, and how it is read. */
export interface PagedList {
  readonly operation: ListOperation | RawOperation;
  /** The plural resource name, as the spec spells it. */
  readonly resource: string;
  /** Where the contract says that the items are: empty for the body itself, undefined to look for the only list. */
  readonly place: readonly string[] | undefined;
  readonly rule: PagingRule;
  /** Returns the id of an item; undefined if it has none that can be read. */
  readonly idOf: (item: JsonObject) => string | undefined;
  /** Called before each page. @param after the message after which a history is to be read on */
  readonly options: (after?: string) => CallOptions;
}

/** A page as the service sent it. */
export interface FetchedPage {
  readonly items: readonly JsonObject[];
  readonly response: ApiResponse;
  readonly paging: PageResponse;
}

/** Requests a page of a list. @throws as a failed call; ShapeError for a response that is no list */
export async function fetchPage(http: Http, list: PagedList, options: CallOptions): Promise<FetchedPage> {
  const { operation, resource, place, rule } = list;
  const response = await http.call(operation, options);
  const isRest = rule.extent === 'rest of a session';
  // Behind the last page, a service may have no content.
  const mayBeNothing = isRest || options.link !== undefined || options.more !== undefined;
  if (mayBeNothing) response.acceptNothing();
  const items = response.read((body) => {
    const isNothing = (isRest && isEmptyObject(body)) || (mayBeNothing && response.status === 204);
    return isNothing ? [] : readList(body, { leaf: operation.leaf, resource, place });
  });
  const { headers, status } = response;
  const nextLink = await readNextLink(headers.link);
  return { items, response, paging: { body: response.json(), headers, status, itemCount: items.length, nextLink } };
}

/** In place of the next link in a header that cannot be parsed. It is no address, and so refused. */
const UNREADABLE = 'unreadable:';

/** Returns the next page of a Link header (RFC 8288). */
async function readNextLink(header: string | undefined): Promise<string | undefined> {
  if (header === undefined) return undefined;
  const { default: LinkHeader } = await import('http-link-header');
  try {
    // Sentry links a next page from the last one, marked `results="false"`.
    const links = LinkHeader.parse(header).rel('next');
    return links.find(({ results }) => results !== 'false')?.uri;
  } catch {
    return /\bnext\b/i.test(header) ? UNREADABLE : undefined;
  }
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
