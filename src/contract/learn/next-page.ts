import type { JsonObject } from '../json.ts';
import { formatWay, isLink, type PageWay, proposeSteps, sourceValue } from '../next-page.ts';
import { PageProgress } from '../page-progress.ts';
import { type PageResponse, readSigns } from '../page-signs.ts';
import type { Exchange } from './exchange.ts';

/** A recorded page of a list. */
export interface TracedPage {
  readonly exchange: Exchange;
  readonly items: readonly JsonObject[];
  /** What identifies each item; see `identify`. */
  readonly ids: readonly string[];
}

/** A way to request the next page, and the request that proves it. */
export interface ProvedWay {
  readonly way: string;
  /** The path of the sign that announced the next page. */
  readonly announced: string;
  readonly from: Exchange;
  readonly to: Exchange;
}

/** Stands for the base URL of the service. */
const HOST = 'https://host.invalid';

function toPageResponse({ exchange, items }: TracedPage): PageResponse {
  const { body, headers, status, headerLinks } = exchange;
  return { body, headers, status, itemCount: items.length, headerLinks };
}

function urlOf({ path, query }: Exchange): URL {
  const url = new URL(HOST);
  url.pathname = path;
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url;
}

function sortedQuery(url: URL): string {
  return [...url.searchParams]
    .map((pair) => JSON.stringify(pair))
    .toSorted()
    .join();
}

/** Whether a link on a page leads to a request. A link to another host proves nothing. */
function leadsTo(link: unknown, from: Exchange, to: Exchange, { origin, basePath }: PagedRequests): boolean {
  const base = new URL(urlOf(from).href.replace(HOST, origin + basePath));
  if (typeof link !== 'string' || !URL.canParse(link, base.href)) return false;
  const target = new URL(link, base);
  const requested = urlOf(to);
  const isSamePath = target.pathname.replace(/\/$/, '') === (basePath + requested.pathname).replace(/\/$/, '');
  return target.origin === base.origin && isSamePath && sortedQuery(target) === sortedQuery(requested);
}

/** Returns the query parameter in which two requests differ, with both values; undefined if it is not exactly one. */
function changedParameter(from: Exchange, to: Exchange, own: readonly string[]) {
  const names = [...new Set([...Object.keys(from.query), ...Object.keys(to.query)])];
  const changed = names.filter((name) => from.query[name] !== to.query[name]);
  const [name] = changed;
  const value = name === undefined ? undefined : to.query[name];
  if (name === undefined || value === undefined || changed.length > 1 || own.includes(name)) return undefined;
  return { name, value, before: from.query[name] };
}

/** Where the requests of a list go, and their parameters that are not for paging. */
export interface PagedRequests {
  readonly origin: string;
  readonly basePath: string;
  /** The names of query parameters that have another use. */
  readonly own: readonly string[];
}

function numberedWays(page: TracedPage, name: string, value: number, before: string | undefined): readonly PageWay[] {
  const signs = readSigns(toPageResponse(page));
  const count = page.items.length;
  const last = before === undefined ? undefined : Number(before);
  const [number] = signs.pages;
  const [offset] = signs.offsets;
  const isFirst = last === undefined;
  const first = number?.value ?? (value === 1 ? 0 : 1);
  const isNextPage = value === (last ?? first) + 1;
  const isNextOffset = count > 1 && value === (last ?? offset?.value ?? 0) + count;
  const pageWay: PageWay =
    isFirst && first === 0 ? { kind: 'page', parameter: name, first: 0 } : { kind: 'page', parameter: name };
  const ways: readonly PageWay[] = [
    ...(isNextPage ? [pageWay] : []),
    ...(isNextOffset ? [{ kind: 'offset', parameter: name } as const] : []),
  ];
  if (ways.length < 2) return ways;
  // Both match: the name decides.
  return /page|^p$/i.test(name) ? ways.slice(0, 1) : ways.slice(1);
}

/** Returns the ways that may have led from a page to a request, the surest first. */
function waysBetween(page: TracedPage, to: Exchange, requests: PagedRequests): readonly PageWay[] {
  const { exchange, ids } = page;
  const response = toPageResponse(page);
  const signs = readSigns(response);
  const steps = signs.links.length === 0 ? [] : proposeSteps(signs, page.items.length);
  const links = steps
    .map(({ way }) => way)
    .filter(isLink)
    .filter((way) => leadsTo(sourceValue(way, response), exchange, to, requests));
  const changed = changedParameter(exchange, to, requests.own);
  if (changed === undefined) return links;
  const { name, value, before } = changed;
  const tokens = signs.tokens
    .filter((token) => token.value === value)
    .toSorted((left, right) => Number(left.isWeak) - Number(right.isWeak))
    .map(({ path }): PageWay => ({ kind: 'token', source: path.split('.'), parameter: name }));
  const after: readonly PageWay[] = ids.at(-1) === value ? [{ kind: 'after', parameter: name }] : [];
  const numbered = /^\d{1,15}$/.test(value) ? numberedWays(page, name, Number(value), before) : [];
  return [...links, ...tokens, ...numbered, ...after];
}

/** How many requests after a page may be the one for the next page. */
const MAX_DISTANCE = 20;

/**
 * Finds the ways to the next page that a trace proves: a page announces the next one, or its number follows; the next page
 * was requested in that way, and has new items. Returns the surest way for each pair of pages.
 */
export function proveNext(pages: readonly TracedPage[], requests: PagedRequests): readonly ProvedWay[] {
  const proved: { readonly ways: readonly PageWay[]; readonly from: TracedPage; readonly to: TracedPage }[] = [];
  for (const [index, from] of pages.entries()) {
    const signs = readSigns(toPageResponse(from));
    const progress = new PageProgress();
    progress.add(from.ids, 0, signs);
    const to = pages.slice(index + 1, index + 1 + MAX_DISTANCE).find(({ exchange, ids }) => {
      const isPossible =
        signs.links.length > 0 || changedParameter(from.exchange, exchange, requests.own) !== undefined;
      if (!isPossible || progress.compare(ids).kind !== 'new') return false;
      return waysBetween(from, exchange, requests).length > 0;
    });
    if (to) proved.push({ ways: waysBetween(from, to.exchange, requests), from, to });
  }
  const common = proved[0]?.ways.find((way) => proved.every(({ ways }) => ways.some((each) => isSame(each, way))));
  return proved.flatMap(({ ways, from, to }) => {
    const way = common ?? ways[0];
    if (way === undefined) return [];
    const announced =
      'source' in way ? way.source.join('.') : way.kind === 'header' ? 'header.link' : 'no further sign';
    return [{ way: formatWay(way), announced, from: from.exchange, to: to.exchange }];
  });
}

function isSame(left: PageWay, right: PageWay): boolean {
  return formatWay(left) === formatWay(right);
}
