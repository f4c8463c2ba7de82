import type { JsonObject } from '../contract/json.ts';
import type { ListOperation } from '../contract/operations.ts';
import { type Extent, earlierSigns, moreSigns, type ReadPage, statedEnd } from '../contract/paging.ts';
import { CredentialsError, PartnerctlError, type ShapeError, withHint } from '../errors.ts';
import type { ApiResponse } from './api-response.ts';
import type { CallOptions } from './call.ts';
import type { Http } from './http.ts';
import { isMissing, isRejected, listChanged, type Problem, pagingFixes } from './page-errors.ts';

/* Why a list ends: the one place where it is decided. `pages.ts` requests its pages. */

/** The stated limit: assumes that no service has smaller pages, so that a shorter list that says nothing of pages is whole. */
const LEAST_PAGE = 10;

/** The customary parameters for the size of a page. */
const SIZES = ['limit', 'size', 'per_page', 'page_size', 'pageSize', 'count', 'take'];

const NO_WAY = 'The list has more pages, and no request for the next one returned new items.';

/**
 * Why a list ends where it does. `stated`: the service says so. `added up`: as many different ids as a stated total. `empty
 * page`: nothing behind the last number. `silent`: nothing speaks of pages, and asking for more brought nothing. `not
 * proved`: the service rejects the question for more or, of a history, announces more than can be requested.
 */
type End = 'stated' | 'added up' | 'empty page' | 'silent' | 'not proved';

/** A list that the service serves in pages. */
export interface PagedList<Item> {
  readonly operation: ListOperation;
  readonly extent: Extent;
  readonly options: () => CallOptions;
  /** @throws UnknownShape */
  readonly read: (items: readonly JsonObject[]) => readonly Item[];
  readonly idOf: (item: Item) => string;
  /** Whether to ask a short list for more, too, to learn whether the service allows the question. */
  readonly asksShort?: boolean;
  /** Called when a request for a further page fails: resolves to send it again, or throws. Without it, the failure is thrown. */
  readonly recover?: ((error: unknown) => Promise<void>) | undefined;
}

/** Why reading ended, and what announces more of a history than can be requested: after the last page, before it. */
export interface Ending {
  readonly end: End;
  readonly more?: readonly string[];
  readonly earlier?: readonly string[];
}

export interface SentPage<Item> extends ReadPage {
  readonly count: number;
  /** What no page before had, by id. */
  readonly fresh: ReadonlyMap<string, Item>;
  readonly response: ApiResponse;
}

/** What came behind a page: nothing, or only what was read before. */
export type Behind = 'nothing' | 'repeated';

/** What reads the pages of a list. */
export interface Reader<Item> {
  readonly http: Http;
  readonly list: PagedList<Item>;
  /** @throws as a failed call; ShapeError for a response that is no list */
  fetch(before: SentPage<Item>, request: CallOptions): Promise<SentPage<Item>>;
  incomplete(page: SentPage<Item>, problem: Problem): ShapeError;
}

/**
 * Decides why a list ends after a page: what speaks of more, and what says that this is all.
 * @param behind what came instead of a next page; undefined if none was requested
 * @throws ShapeError if more of a list is announced; ListChanged if it changed meanwhile
 */
export async function endOf<Item>(reader: Reader<Item>, page: SentPage<Item>, behind?: Behind): Promise<Ending> {
  const { http, list } = reader;
  const { extent, operation, asksShort = false } = list;
  const isList = extent === 'list';
  const { kind } = http.contract.next(operation.leaf);
  const isSetWhole = kind === 'none' && http.contract.leaf(`${operation.leaf}.next`).source === 'override';
  const [more, earlier] = [moreSigns(page, extent, isSetWhole), earlierSigns(page, extent)];
  const { hasShifted, hasShrunk, hasHole } = page.progress;
  if (isList && (hasShrunk || (hasShifted && more.length > 0))) throw listChanged(operation, page.response);
  if (isList && more.length > 0) throw reader.incomplete(page, { message: NO_WAY, signs: more });
  // Nothing behind the last page has what is missing before it.
  if (hasHole && more.length > 0) return { end: 'not proved', earlier: [...earlier, ...more] };
  if (more.length > 0 || earlier.length > 0) return { end: 'not proved', more, earlier };
  const stated = statedEnd(page, extent);
  if (stated) return { end: stated };
  // The contract says where the next page is announced, and it is not.
  if (kind === 'none' || kind === 'link' || kind === 'token') return { end: 'stated' };
  if (behind === 'nothing') return { end: 'empty page' };
  if (!isList || (page.count < LEAST_PAGE && !asksShort)) return { end: 'silent' };
  return { end: await askForMore(reader, page) };
}

/** Asks a list that says nothing of pages for more, in two ways. @throws ShapeError if there are other items */
async function askForMore<Item>(reader: Reader<Item>, page: SentPage<Item>): Promise<End> {
  const { count } = page;
  const { http, list } = reader;
  const of = (size: number) => {
    const sizes = Object.fromEntries(SIZES.map((name) => [name, String(size)]));
    return { ...sizes, ...http.contract.size(list.operation.leaf) };
  };
  const [offset, half] = [String(count), Math.max(1, Math.floor(count / 2))];
  const answers = [
    await question(reader, page, { page: '1', ...of(count + 1) }),
    // Where pages count from 0, page 1 of a larger size begins too late: page 2 of half the size begins right behind.
    await question(reader, page, { offset, skip: offset, start: offset, page: '2', ...of(half) }),
  ];
  // Neither says enough alone: a service that takes no size, and counts from 0, has its second page at the first question.
  return answers.includes('rejected') ? 'not proved' : 'silent';
}

async function question<Item>(
  reader: Reader<Item>,
  page: SentPage<Item>,
  parameters: Readonly<Record<string, string>>,
): Promise<Behind | 'rejected'> {
  try {
    const answer = await reader.fetch(page, { page: parameters });
    if (answer.count === 0) return 'nothing';
    if (answer.fresh.size === 0) return 'repeated';
  } catch (error) {
    if (!(error instanceof PartnerctlError)) throw error;
    const { status, fromGateway } = error.info;
    if (isRejected(error)) return isMissing(error) ? 'nothing' : 'rejected';
    // A service may also forbid what it does not know. That does not make the list forbidden.
    if (error instanceof CredentialsError && status === 403 && !fromGateway) return 'rejected';
    const hint = `The list was asked for more, because nothing in it speaks of pages.\n${pagingFixes(reader.list.operation.leaf)}`;
    throw withHint(error, { hint });
  }
  const message = `The list has more than the ${page.count} items of its first page.`;
  const signs = [`other items for page=${parameters.page} and the like`];
  throw reader.incomplete(page, { message, signs, isMore: true });
}
