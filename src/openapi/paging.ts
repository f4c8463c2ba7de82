import type { OpenApiDocument } from './document.ts';
import type { Endpoint } from './endpoints.ts';
import { plainName } from './names.ts';
import { isInList, type Property, propertiesOf } from './schema.ts';

/** How deep what announces the next page is looked for. */
const DEPTH = 4;

/** Names as `plainName` writes them, the best first. */
const words = (line: string): readonly string[] => line.split(' ');
const LINKS = words('nexturl nextlink nextpageurl nextpagelink nexturi nextpageuri nexthref');
const TOKENS = words(
  'nextcursor nextpagetoken nexttoken nextpagecursor nextmarker nextafter continuationtoken continuation continue endcursor cursor marker pagetoken after',
);
const TOKEN_PARAMETERS = words(
  'cursor pagetoken nexttoken continuationtoken continuation continue marker nextcursor nextpagetoken after startingafter startcursor token',
);
const PAGE_PARAMETERS = words('page pagenumber pageno pageindex');
const OFFSET_PARAMETERS = words('offset skip start startindex');
const AFTER_PARAMETERS = words('startingafter after afterid');
const MORE = words('hasmore hasnext hasnextpage more islast last');

/** Returns the query parameter with one of these names; `page[cursor]` also counts as `cursor`. */
function parameterCalled(endpoint: Endpoint, names: readonly string[], own: readonly string[]): string | undefined {
  const query = endpoint.parameters.filter(({ name, place }) => place === 'query' && !own.includes(name));
  for (const wanted of names) {
    const found = query.find(({ name }) =>
      [name, /\[(.*)\]$/.exec(name)?.[1] ?? ''].some((each) => plainName(each) === wanted),
    );
    if (found !== undefined) return found.name;
  }
  return undefined;
}

function isCalled({ path }: Property, names: readonly string[]): boolean {
  return names.includes(plainName(path.at(-1) ?? ''));
}

/** Returns the path of the link, or of the `href` in a link object (HAL). */
function linkPath({ path, shape }: Property): string {
  const href = [...shape.properties.keys()].find((name) => plainName(name) === 'href');
  return [...path, ...(href === undefined ? [] : [href])].join('.');
}

function isUrl({ path, shape }: Property): boolean {
  const isAmongLinks = path.slice(0, -1).some((key) => plainName(key) === 'links');
  return isAmongLinks || shape.formats.some((format) => /^ur[il]/.test(format));
}

interface PagingParameters {
  readonly token: string | undefined;
  readonly offset: string | undefined;
  readonly page: string | undefined;
}

function tokenFor({ path }: Property, parameter: string | undefined): string | undefined {
  return parameter === undefined ? undefined : `token:${path.join('.')}:${parameter}`;
}

/** Returns how a property of a response leads to the next page: as a link, or as a token for a query parameter. */
function nextIn(property: Property, { token, page, offset }: PagingParameters): string | undefined {
  const { types, properties } = property.shape;
  if (isCalled(property, LINKS)) return `link:${linkPath(property)}`;
  if (isCalled(property, TOKENS)) return properties.size > 0 ? undefined : tokenFor(property, token);
  if (isCalled(property, ['nextoffset'])) return tokenFor(property, offset);
  if (!isCalled(property, ['next', 'nextpage'])) return undefined;
  if (types.has('integer') || types.has('number')) return tokenFor(property, page);
  const link = linkPath(property);
  // The fields of an object without a link are examined one by one.
  if (properties.size > 0) return link === property.path.join('.') ? undefined : `link:${link}`;
  // If both are possible, `auto` looks at the value.
  return isUrl(property) || token === undefined ? `link:${link}` : undefined;
}

/**
 * Finds how the next page of a list is requested, as a value of `<list>.next`; undefined if the document does not say.
 * @param own the names of query parameters that have another use
 */
export function matchNextPage(
  document: OpenApiDocument,
  endpoint: Endpoint,
  own: readonly string[],
): string | undefined {
  const all = endpoint.response === undefined ? [] : propertiesOf(document, endpoint.response, DEPTH);
  const properties = all.filter((property) => !isInList(property));
  const token = parameterCalled(endpoint, TOKEN_PARAMETERS, own);
  const page = parameterCalled(endpoint, PAGE_PARAMETERS, own);
  const offset = parameterCalled(endpoint, OFFSET_PARAMETERS, own);
  const after = parameterCalled(endpoint, AFTER_PARAMETERS, own);
  for (const property of properties) {
    const next = nextIn(property, { token, page, offset });
    if (next !== undefined) return next;
  }
  if (endpoint.responseHeaders.some((name) => name.toLowerCase() === 'link')) return 'header:link';
  if (page !== undefined) {
    const isFromZero = endpoint.parameters.some(({ name, shape }) => name === page && shape.startsAtZero);
    return isFromZero ? `page:${page}:0` : `page:${page}`;
  }
  if (after !== undefined && properties.some((property) => isCalled(property, MORE))) return `after:${after}`;
  return offset === undefined ? undefined : `offset:${offset}`;
}
