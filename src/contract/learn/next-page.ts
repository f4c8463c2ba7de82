import type { JsonObject } from '../json.ts';
import { formatStrategy, isLink, type PagingStrategy, proposeSteps, sourceValue } from '../next-page.ts';
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

/** A strategy for requesting the next page, and the request that proves it. */
export interface ProvedStrategy {
  readonly strategy: string;
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

function numberedStrategies(
  page: TracedPage,
  name: string,
  value: number,
  before: string | undefined,
): readonly PagingStrategy[] {
  const signs = readSigns(toPageResponse(page));
  const count = page.items.length;
  const last = before === undefined ? undefined : Number(before);
  const [number] = signs.pages;
  const [offset] = signs.offsets;
  const isFirst = last === undefined;
  const first = number?.value ?? (value === 1 ? 0 : 1);
  const isNextPage = value === (last ?? first) + 1;
  const isNextOffset = count > 1 && value === (last ?? offset?.value ?? 0) + count;
  const pageStrategy: PagingStrategy =
    isFirst && first === 0 ? { kind: 'page', parameter: name, first: 0 } : { kind: 'page', parameter: name };
  const strategies: readonly PagingStrategy[] = [
    ...(isNextPage ? [pageStrategy] : []),
    ...(isNextOffset ? [{ kind: 'offset', parameter: name } as const] : []),
  ];
  if (strategies.length < 2) return strategies;
  // Both match: the name decides.
  return /page|^p$/i.test(name) ? strategies.slice(0, 1) : strategies.slice(1);
}

/** Returns the strategies that may have led from a page to a request, the surest first. */
function strategiesBetween(page: TracedPage, to: Exchange, requests: PagedRequests): readonly PagingStrategy[] {
  const { exchange, ids } = page;
  const response = toPageResponse(page);
  const signs = readSigns(response);
  const steps = signs.links.length === 0 ? [] : proposeSteps(signs, page.items.length);
  const links = steps
    .map(({ strategy }) => strategy)
    .filter(isLink)
    .filter((strategy) => leadsTo(sourceValue(strategy, response), exchange, to, requests));
  const changed = changedParameter(exchange, to, requests.own);
  if (changed === undefined) return links;
  const { name, value, before } = changed;
  const tokens = signs.tokens
    .filter((token) => token.value === value)
    .toSorted((left, right) => Number(left.isWeak) - Number(right.isWeak))
    .map(({ path }): PagingStrategy => ({ kind: 'token', source: path.split('.'), parameter: name }));
  const after: readonly PagingStrategy[] = ids.at(-1) === value ? [{ kind: 'after', parameter: name }] : [];
  const numbered = /^\d{1,15}$/.test(value) ? numberedStrategies(page, name, Number(value), before) : [];
  return [...links, ...tokens, ...numbered, ...after];
}

/** How many requests after a page may be the one for the next page. */
const MAX_DISTANCE = 20;

/**
 * Finds the strategies for the next page that a trace proves: a page announces the next one, or its number follows; the next
 * page was requested by that strategy, and has new items. Returns the surest strategy for each pair of pages.
 */
export function proveNext(pages: readonly TracedPage[], requests: PagedRequests): readonly ProvedStrategy[] {
  const proved: {
    readonly strategies: readonly PagingStrategy[];
    readonly from: TracedPage;
    readonly to: TracedPage;
  }[] = [];
  for (const [index, from] of pages.entries()) {
    const signs = readSigns(toPageResponse(from));
    const progress = new PageProgress();
    progress.add(from.ids, 0, signs);
    const to = pages.slice(index + 1, index + 1 + MAX_DISTANCE).find(({ exchange, ids }) => {
      const isPossible =
        signs.links.length > 0 || changedParameter(from.exchange, exchange, requests.own) !== undefined;
      if (!isPossible || progress.compare(ids).kind !== 'new') return false;
      return strategiesBetween(from, exchange, requests).length > 0;
    });
    if (to) proved.push({ strategies: strategiesBetween(from, to.exchange, requests), from, to });
  }
  const common = proved[0]?.strategies.find((strategy) =>
    proved.every(({ strategies }) => strategies.some((each) => isSame(each, strategy))),
  );
  return proved.flatMap(({ strategies, from, to }) => {
    const strategy = common ?? strategies[0];
    if (strategy === undefined) return [];
    const announced =
      'source' in strategy ? strategy.source.join('.') : strategy.kind === 'header' ? 'header.link' : 'no further sign';
    return [{ strategy: formatStrategy(strategy), announced, from: from.exchange, to: to.exchange }];
  });
}

function isSame(left: PagingStrategy, right: PagingStrategy): boolean {
  return formatStrategy(left) === formatStrategy(right);
}
