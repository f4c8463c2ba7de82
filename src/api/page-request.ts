import { normalizeName } from '../contract/field-names.ts';
import type { Operation } from '../contract/operations.ts';
import type { PageStep } from '../contract/paging.ts';
import type { ApiResponse } from './api-response.ts';
import type { CallOptions } from './call.ts';
import type { PagedList } from './fetch-page.ts';
import type { Http } from './http.ts';
import { incompleteListError } from './incomplete-list.ts';

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

function currentUrl(http: Http, response: ApiResponse): URL {
  return new URL(new URL(http.baseUrl).origin + response.path);
}

/** Returns the address of a link. Some services leave the path of the base URL out: `automation/spaces/?page=2`. */
function targetOf(http: Http, link: string, current: URL): URL {
  const fromBase = new URL(link, `${current.origin}${http.basePath}/`);
  const isRelative = /^[\w-]+\//.test(link);
  return isRelative && fromBase.pathname === current.pathname ? fromBase : new URL(link, current);
}

/**
 * Returns the path and query of a link to the next page. The origin of the link is ignored: the request always goes to
 * the configured origin. A link outside the base path is rejected, because it would send the token to another
 * application on that host.
 * @throws ShapeError
 */
function pathOfLink(http: Http, operation: Operation, response: ApiResponse, link: string): string {
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

/** Returns the path and query of a response's own request with other query parameters. */
export function pathWith(http: Http, response: ApiResponse, parameters: Readonly<Record<string, string>>): string {
  const url = currentUrl(http, response);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.pathname + url.search;
}

/**
 * Returns the request for a page, and a key that differs from that of any other page; undefined if the service has no such
 * request.
 * @param from the responses of the page before it, and of the first page, whose query it keeps
 * @throws ShapeError for a link outside of the base URL
 */
export function requestOf(
  http: Http,
  list: PagedList,
  step: PageStep,
  from: { readonly page: ApiResponse; readonly first: ApiResponse },
): { readonly options: CallOptions; readonly key: string } | undefined {
  if (step.kind === 'link') {
    const link = pathOfLink(http, list.operation, from.page, step.value);
    return { options: { link }, key: link };
  }
  if (step.kind === 'after' && step.parameter === '') {
    const options = list.after?.(step.value);
    return options && { options, key: `after ${step.value}` };
  }
  const parameters = { [step.parameter]: String(step.value) };
  const link = pathWith(http, from.first, parameters);
  const isGet = http.contract.operation(list.operation.leaf)?.method === 'GET';
  return { options: isGet ? { link } : { more: parameters }, key: link };
}
