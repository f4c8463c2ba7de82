import type { OpenApiDocument } from './document.ts';
import { contentProperties, type Endpoint } from './endpoints.ts';
import { lettersAndDigits } from './names.ts';
import type { Property } from './shape.ts';

const LINK_NAMES = [
  'next_url',
  'next_link',
  'next_page_url',
  'next_page_link',
  'next_uri',
  'next_page_uri',
  'next_href',
  'next_records_url',
];
const TOKEN_NAMES = [
  'next_cursor',
  'next_page_token',
  'next_token',
  'next_page_cursor',
  'next_marker',
  'continuation_token',
  'next_continuation_token',
  'continuation',
  'end_cursor',
  'cursor',
  'marker',
  'page_token',
  'cursor_next',
  'scroll_id',
  'continue',
];
const TOKEN_PARAMETERS = [
  'continue',
  'cursor',
  'page_token',
  'next_token',
  'continuation_token',
  'continuation',
  'marker',
  'page_cursor',
  'next_cursor',
  'next_page_token',
  'after',
  'starting_after',
  'start_cursor',
  'next',
  'token',
  'after_cursor',
  'scroll_id',
  'start',
];
const AFTER_PARAMETERS = ['starting_after', 'after', 'after_id', 'start_after'];
const PAGE_PARAMETERS = ['page', 'page_number', 'page_no', 'pagenum', 'page_index', 'p'];
const OFFSET_PARAMETERS = ['offset', 'skip', 'start', 'start_index', 'start_at', 'from'];
const MORE_NAMES = ['has_more', 'has_next', 'has_next_page', 'more', 'is_last', 'last'];
const NEXT_NAMES = ['next', 'next_page'];

/** Returns the query parameter with one of these names; `page[cursor]` also counts as `cursor`. */
function queryParameter(
  { parameters }: Endpoint,
  names: readonly string[],
  except: readonly string[],
): string | undefined {
  const query = parameters
    .filter(({ name, place }) => place === 'query' && !except.includes(name))
    .map(({ name }) => name);
  for (const name of names.map(lettersAndDigits)) {
    const found = query.find((each) =>
      [lettersAndDigits(each), lettersAndDigits(/\[(.*)\]$/.exec(each)?.[1] ?? '')].includes(name),
    );
    if (found !== undefined) return found;
  }
  return undefined;
}

function isNamed({ path }: Property, names: readonly string[]): boolean {
  const own = lettersAndDigits(path.at(-1) ?? '');
  return names.some((name) => lettersAndDigits(name) === own);
}

function isUrl({ shape }: Property): boolean {
  const { format, text, examples } = shape;
  const isExample = examples.some((example) => typeof example === 'string' && /^(https?:\/)?\//.test(example));
  return (
    format === 'uri' ||
    format === 'url' ||
    format === 'uri-reference' ||
    isExample ||
    /\b(url|uri|link|address|href)\b/.test(text)
  );
}

/** Returns the path of the link, or of the `href` in a link object (HAL). */
function linkPath(property: Property): string {
  const href = [...property.shape.properties.keys()].find((name) => lettersAndDigits(name) === 'href');
  return [...property.path, ...(href === undefined ? [] : [href])].join('.');
}

function isWithinLinks({ path, shape }: Property): boolean {
  const around = path.slice(0, -1).map(lettersAndDigits);
  return shape.properties.size > 0 || around.includes('links') || around.includes('link');
}

interface PagingParameters {
  readonly token: string | undefined;
  readonly offset: string | undefined;
  readonly page: string | undefined;
}

function tokenFor(property: Property, parameter: string | undefined): string | undefined {
  return parameter === undefined ? undefined : `token:${property.path.join('.')}:${parameter}`;
}

/** Returns how a property of a response leads to the next page: as a link, or as a token for a query parameter. */
function nextIn(property: Property, { token, page, offset }: PagingParameters): string | undefined {
  if (isNamed(property, LINK_NAMES)) return `link:${linkPath(property)}`;
  if (isNamed(property, [...TOKEN_NAMES, 'after'])) return tokenFor(property, token);
  if (isNamed(property, ['next_offset'])) return tokenFor(property, offset);
  if (!isNamed(property, NEXT_NAMES)) return undefined;
  const { types } = property.shape;
  return types.has('integer') || types.has('number') ? tokenFor(property, page) : linkOrToken(property, token);
}

/** Returns what `next` is: a URL, an object with one, or a token. */
function linkOrToken(property: Property, token: string | undefined): string | undefined {
  const { properties, text } = property.shape;
  const link = linkPath(property);
  // The fields of an object without a URL are examined one by one.
  if (properties.size > 0 && link === property.path.join('.')) return undefined;
  const isLink = isUrl(property) || isWithinLinks(property);
  const isToken = /\b(cursor|token|opaque|marker|continuation)\b/.test(text);
  // If both are possible, leave it to `auto`, which looks at the value.
  if (isLink === isToken && token !== undefined) return undefined;
  return isToken && !isLink ? tokenFor(property, token) : `link:${link}`;
}

function announcedInHeader({ responseHeaders }: Endpoint, token: string | undefined): string | undefined {
  if (responseHeaders.some((name) => name.toLowerCase() === 'link')) return 'header:link';
  const header = responseHeaders.find((name) =>
    TOKEN_NAMES.includes(name.toLowerCase().replace(/^x-/, '').replaceAll('-', '_')),
  );
  return header !== undefined && token !== undefined ? `token:header.${header.toLowerCase()}:${token}` : undefined;
}

/**
 * Finds how the next page of a list is requested; undefined if the document does not say.
 * @param own the names of query parameters that have another use
 */
export function matchNextPage(
  document: OpenApiDocument,
  endpoint: Endpoint,
  own: readonly string[],
): string | undefined {
  const properties = contentProperties(document, endpoint.response).filter(
    ({ path }) => path.length <= 4 && !path.some((step) => step.endsWith('[]')),
  );
  const token = queryParameter(endpoint, TOKEN_PARAMETERS, own);
  const page = queryParameter(endpoint, PAGE_PARAMETERS, own);
  const offset = queryParameter(endpoint, OFFSET_PARAMETERS, own);
  const inBody = properties
    .map((property) => nextIn(property, { token, page, offset }))
    .find((next) => next !== undefined);
  const announced = inBody ?? announcedInHeader(endpoint, token);
  if (announced !== undefined) return announced;
  const isCountedFromZero = endpoint.parameters.some(({ name, shape }) => name === page && shape.startsAtZero);
  if (page !== undefined) return isCountedFromZero ? `page:${page}:0` : `page:${page}`;
  const saysMore = properties.some((property) => isNamed(property, MORE_NAMES));
  const after = queryParameter(endpoint, AFTER_PARAMETERS, own);
  if (after !== undefined && saysMore) return `after:${after}`;
  return offset === undefined ? undefined : `offset:${offset}`;
}
