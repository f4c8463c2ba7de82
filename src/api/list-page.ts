import type { JsonObject } from '../contract/json.ts';
import type { ListLeaf } from '../contract/leaves.ts';
import { parseLinkHeader } from '../contract/link-header.ts';
import { pairAsObject, readList } from '../contract/lists.ts';
import type { Operation } from '../contract/operations.ts';
import { type PageAnswer, type PageSigns, readSigns } from '../contract/page-signs.ts';
import { ShapeError } from '../errors.ts';
import type { ApiResponse } from './api-response.ts';
import type { Http } from './http.ts';
import type { CallOptions } from './http-options.ts';

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
  /** A list with more pages is endless. */
  readonly maxPages?: number | undefined;
}

/** A page as the service sent it. */
export interface FetchedPage {
  readonly items: readonly JsonObject[];
  readonly response: ApiResponse;
  readonly answer: PageAnswer;
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
  const path = http.contract.items(operation.leaf);
  const { readItems = (body: unknown) => readList(body, resource, path) } = list;
  if (list.isKnown?.()) response.acceptNothing();
  const items = response.read(readItems);
  const answer: PageAnswer = {
    body: pairAsObject(response.json()),
    headers: response.headers,
    status: response.status,
    itemCount: items.length,
    lastItem: items.at(-1),
    headerLinks: await readLinkHeader(operation, response),
  };
  return { items, response, answer, signs: readSigns(answer) };
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
  /** How every page was requested, as a value of the leaf, if the list ends although something speaks of more. */
  readonly way?: string;
}

/** Returns the error for a list that cannot be read to its end, with the commands that settle how it continues. */
export function incompleteListError({
  operation,
  response,
  message,
  seen,
  tried = [],
  hint,
  way,
}: IncompleteList): ShapeError {
  const leaf = `${operation.leaf}.next`;
  const { status, requestId } = response;
  const attempts = tried.length === 0 ? '' : ` No new items came with ${tried.join(', ')}.`;
  return new ShapeError(message, {
    why: `${operation.name} responded with ${status} and announces more with ${seen}.${attempts}`,
    hint: hint === undefined ? fixHint(operation, way) : `${hint}\n${fixHint(operation, way)}`,
    status,
    requestId,
    details: { operation: operation.name, assumption: 'list.next', leaf, seen, ...(tried.length > 0 && { tried }) },
  });
}

/** The commands that settle how a list continues. @param whole when what was read is all, as a condition */
export function pagingFixes(leaf: string, whole: string): string {
  return [
    'If you know how the next page is requested, run:',
    `partnerctl contract set ${leaf} 'page:<parameter>' (or 'offset:…', 'after:…', 'link:<path>', 'token:<path>:<parameter>')`,
    `If ${whole}, run: partnerctl contract set ${leaf} none`,
  ].join('\n');
}

function fixHint({ leaf }: Operation, way: string | undefined): string {
  const next = `${leaf}.next`;
  if (way === undefined) {
    return `What was read is not the whole list. ${pagingFixes(next, 'the first page is the whole list')}`;
  }
  return [
    'The list may have changed while it was read: run the command again.',
    `If the service counts more than the items of this list, run: partnerctl contract set ${next} ${way}`,
  ].join('\n');
}
