import { UnknownShape } from '../contract/assumptions.ts';
import type { Contract } from '../contract/contract.ts';
import { normalizeName } from '../contract/field-names.ts';
import { findId } from '../contract/fields.ts';
import type { JsonObject } from '../contract/json.ts';
import type { FieldLeaf, ListLeaf } from '../contract/leaves.ts';
import { isLink, type PageStep, type PagingStrategy, sourceValue } from '../contract/next-page.ts';
import type { Operation } from '../contract/operations.ts';
import { identify } from '../contract/page-progress.ts';
import { ErrorInSuccessBody, PartnerctlError, ShapeError } from '../errors.ts';
import type { ApiResponse } from './api-response.ts';
import type { FetchedPage, PagedList } from './fetch-page.ts';
import type { Http } from './http.ts';
import { incompleteListError } from './incomplete-list.ts';

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

/** Returns what identifies each item of a page; see `identify`. */
export function idsOf(http: Http, list: PagedList, { items }: Pick<FetchedPage, 'items'>): readonly string[] {
  return identify(items, (item) => itemId(item, http.contract, list));
}

/** Returns the address of a link. Some services leave the path of the base URL out: `automation/spaces/?page=2`. */
function targetOf(http: Http, link: string, current: URL): URL {
  const fromBase = new URL(link, `${current.origin}${http.basePath}/`);
  const isRelative = /^[\w-]+\//.test(link);
  return isRelative && fromBase.pathname === current.pathname ? fromBase : new URL(link, current);
}

/** Parameters that say where a page begins, and how many items it has, by their normalized names. */
const POSITION = /^(page|pageno|pagenumber|offset|skip|start)$/;
const SIZE = /^(limit|perpage|pagesize|size|count)$/;

const TOKEN = /cursor|token|marker|continuation|bookmark/;

interface QueryParameter {
  /** Normalized. Some services number those of a list: `kind[]` becomes `kind[0]`. */
  readonly name: string;
  readonly value: string;
  readonly text: string;
}

function parametersOf({ search }: URL): readonly QueryParameter[] {
  const texts = search.slice(1).split('&').filter(Boolean);
  return texts.map((text) => {
    const [[key, value] = ['', '']] = new URLSearchParams(text);
    return { name: normalizeName(key).replace(/\[\d*\]$/, ''), value, text };
  });
}

/** `start` may also be the date with which the list begins. */
function isPosition({ name, value }: QueryParameter): boolean {
  return POSITION.test(name) && /^\d+$/.test(value);
}

/**
 * Returns the query of a link to the next page. Some services leave out the parameters of the request beside the number of the
 * page, and would answer with a page of another list. A link with a token stays as it is: the token may stand for them.
 */
function queryOfLink(current: URL, target: URL): string {
  const [asked, linked] = [parametersOf(current), parametersOf(target)];
  const isIn = (all: typeof asked, wanted: string) => all.some(({ name }) => name === wanted);
  const isCount = linked.every(
    ({ name }) => POSITION.test(name) || SIZE.test(name) || (isIn(asked, name) && !TOKEN.test(name)),
  );
  const isSameList = target.pathname.replace(/\/$/, '') === current.pathname.replace(/\/$/, '');
  if (!isSameList || !isCount || linked.length === 0) return target.search;
  const missing = asked.filter((each) => !isPosition(each) && !isIn(linked, each.name));
  return [target.search, ...missing.map(({ text }) => text)].join('&');
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
  const target = targetOf(http, link, current);
  // Behind a proxy that adds the base path, a service may link the path that it sees itself.
  if (http.basePath + target.pathname === current.pathname) target.pathname = current.pathname;
  if (target.pathname !== current.pathname && !target.pathname.startsWith(`${http.basePath}/`)) {
    const message = 'The next page of the list is outside of the base URL.';
    throw incompleteListError({ operation, response, message, seen: `a link to ${target.pathname}` });
  }
  return target.pathname + queryOfLink(current, target);
}

/** Returns the path and query of a response's own request with a query parameter set. */
function pathWith(http: Http, response: ApiResponse, parameter: string, value: string): string {
  const url = currentUrl(http, response);
  url.searchParams.set(parameter, value);
  return url.pathname + url.search;
}

/**
 * Returns the path and query of a page, undefined if the strategy needs an id that the last item lacks.
 * @param from the page before it, and the first page, whose query it keeps
 * @throws ShapeError for a link outside of the base URL
 */
export function pathOfStep(
  http: Http,
  list: PagedList,
  { strategy, number }: PageStep,
  from: { readonly page: FetchedPage; readonly first: FetchedPage },
): string | undefined {
  const { page, first } = from;
  if (isLink(strategy))
    return pathOfLink(http, list.operation, page.response, String(sourceValue(strategy, page.pageResponse)));
  const last = page.items.at(-1);
  const id = strategy.kind === 'after' && last ? itemId(last, http.contract, list) : undefined;
  const value =
    strategy.kind === 'token' ? sourceValue(strategy, page.pageResponse) : strategy.kind === 'after' ? id : number;
  return value === undefined ? undefined : pathWith(http, first.response, strategy.parameter, String(value));
}

/**
 * Returns the request for page 1 after the first page, if a document or the user named only the parameter: page 1 repeats the
 * first page, or is the second one if pages count from 0. Undefined if it is known where they start.
 */
export function stepFromZero(
  http: Http,
  { operation }: PagedList,
  strategy: PagingStrategy,
  { signs }: FetchedPage,
): PageStep | undefined {
  const isNamedOnly = strategy.kind === 'page' && strategy.first === undefined && signs.pages.length === 0;
  const isObserved = http.contract.leaf(`${operation.leaf}.next`).source === 'observed';
  return isNamedOnly && !isObserved ? { strategy: { ...strategy, first: 0 }, number: 1 } : undefined;
}

function currentUrl(http: Http, response: ApiResponse): URL {
  return new URL(new URL(http.baseUrl).origin + response.path);
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
