import { normalizeName } from '../contract/field-names.ts';
import { readSigns } from '../contract/page-signs.ts';
import type { Endpoint, EndpointParameter } from './endpoints.ts';

/* Normalized names of query parameters, the best first. */

const TOKENS =
  'cursor pagetoken nexttoken continuationtoken continuation continue marker nextcursor nextpagetoken pageinfo $skiptoken after startingafter startcursor token'.split(
    ' ',
  );
const PAGES = 'page pagenumber pageno pageindex'.split(' ');
const OFFSETS = 'offset skip $skip start startindex from'.split(' ');
const AFTER = 'startingafter after afterid before'.split(' ');
const SIZES = 'limit $limit size pagesize perpage count top $top first max maxresults maxitems'.split(' ');

/** Whether a parameter has one of these names; `page[cursor]` is also called `cursor`. */
function isCalled({ name }: EndpointParameter, names: readonly string[]): boolean {
  return [name, /\[(.*)\]$/.exec(name)?.[1] ?? ''].some((each) => names.includes(normalizeName(each)));
}

function parameterCalled(query: readonly EndpointParameter[], names: readonly string[]): EndpointParameter | undefined {
  return names.map((name) => query.find((each) => isCalled(each, [name]))).find((found) => found !== undefined);
}

/** Returns the page number of a list, or else its only number that is no size: `seite`, which starts at 1. */
function pageOf(query: readonly EndpointParameter[]): EndpointParameter | undefined {
  const numbers = query.filter((each) => each.shape.types.has('integer') && !isCalled(each, SIZES));
  const [only, other] = numbers;
  return parameterCalled(query, PAGES) ?? (other === undefined && only?.shape.start === 1 ? only : undefined);
}

/**
 * Finds how the next page of a list is requested, as a value of `<list>.next`; undefined if the document does not say.
 * @param body an example of the response
 * @param own the names of query parameters that have another use
 */
export function matchNextPage(endpoint: Endpoint, body: unknown, own: readonly string[]): string | undefined {
  const query = endpoint.parameters.filter(({ name, place }) => place === 'query' && !own.includes(name));
  const page = pageOf(query);
  const offset = parameterCalled(query, OFFSETS)?.name;
  const token = parameterCalled(query, TOKENS)?.name;
  const signs = readSigns({ body, headers: {}, status: 200, itemCount: 1, nextLink: undefined });
  const link = signs.find(({ kind }) => kind === 'link');
  if (link) return `link:${link.path}`;
  const tokens = signs.filter((sign) => sign.kind === 'token');
  for (const { path, name, isNumber } of tokens.filter(({ isNext }) => isNext)) {
    if (!isNumber && /^next(page)?$/.test(name)) return nextValue(path, token);
    const parameter = isNumber ? (/offset|skip|start/.test(name) ? offset : page?.name) : token;
    if (parameter !== undefined) return `token:${path}:${parameter}`;
  }
  const cursor = tokens.find(({ isNext }) => !isNext);
  if (cursor && token !== undefined) return `token:${cursor.path}:${token}`;
  if (endpoint.responseHeaders.some((name) => name.toLowerCase() === 'link')) return 'header:link';
  const after = signs.some(({ kind }) => kind === 'more') ? parameterCalled(query, AFTER) : undefined;
  return numbered('page', page) ?? numbered('after', after) ?? numbered('offset', parameterCalled(query, OFFSETS));
}

function numbered(kind: 'page' | 'after' | 'offset', parameter: EndpointParameter | undefined): string | undefined {
  if (parameter === undefined) return undefined;
  return `${kind}:${parameter.name}${kind === 'page' && parameter.shape.start === 0 ? ':0' : ''}`;
}

/** A bare `next` is a link, or a token if a parameter takes one: then only its value tells. */
function nextValue(path: string, token: string | undefined): string | undefined {
  return token === undefined || /(?:^|\.)_?links\./.test(path) ? `link:${path}` : undefined;
}
