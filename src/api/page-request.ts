import { normalizeName } from '../contract/field-names.ts';
import { PAGE_NAMES } from '../contract/page-signs.ts';
import type { Http } from './http.ts';

/** Whether a parameter says where a page begins, by a number. */
function isPosition(name: string): boolean {
  return PAGE_NAMES.page.test(normalizeName(name)) || PAGE_NAMES.offset.test(normalizeName(name));
}

type Address = Pick<Http, 'baseUrl' | 'basePath'>;

/** Returns the address of a request. @param path path and query, starting with the base path */
function addressOf({ baseUrl }: Address, path: string): URL {
  return new URL(new URL(baseUrl).origin + path);
}

/** Returns the path and query of a request with other query parameters. */
export function pathWith(http: Address, path: string, parameters: Readonly<Record<string, string>>): string {
  const url = addressOf(http, path);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.pathname + url.search;
}

/**
 * Returns the path and query of a link to the next page. The origin of the link is ignored: the request always goes to
 * the configured origin. A link outside the base path would send the token to another application on that host.
 * @param current path and query of the request for the page that has the link
 * @returns undefined for a link outside the base path, or one that is not an address
 */
export function pathOfLink(http: Address, current: string, link: string): string | undefined {
  const from = addressOf(http, current);
  if (!URL.canParse(link, from.href)) return undefined;
  const target = new URL(link, from);
  // Behind a proxy that adds the base path, a service may link the path that it sees itself.
  if (http.basePath + target.pathname === from.pathname) target.pathname = from.pathname;
  const isBelow = target.pathname === from.pathname || target.pathname.startsWith(`${http.basePath}/`);
  return /^https?:$/.test(target.protocol) && isBelow ? target.pathname + queryOfLink(from, target) : undefined;
}

/**
 * Returns the query of a link to the next page. Laravel leaves out the parameters of the request beside the number of the page,
 * and would answer with a page of another list. A link with a token stays as it is: the token may stand for them.
 */
function queryOfLink(from: URL, target: URL): string {
  const [asked, linked] = [[...from.searchParams], target.searchParams];
  const names = [...linked.keys()];
  const isNumbered = names.every((name) => isPosition(name) || PAGE_NAMES.size.test(normalizeName(name)));
  const isSameList = target.pathname.replace(/\/$/, '') === from.pathname.replace(/\/$/, '');
  if (names.length === 0 || !isNumbered || !isSameList) return target.search;
  const missing = asked.filter(([name, value]) => !(isPosition(name) && /^\d+$/.test(value)) && !linked.has(name));
  return [target.search, ...(missing.length > 0 ? [new URLSearchParams(missing).toString()] : [])].join('&');
}
