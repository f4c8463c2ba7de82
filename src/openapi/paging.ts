import { normalizeName } from '../contract/field-names.ts';
import { isNext, PAGE_PARAMETERS, readSigns, type Sign } from '../contract/page-signs.ts';
import type { Endpoint, QueryParameter } from './endpoints.ts';
import type { Shape } from './schema.ts';

/** The longest page to ask for, whatever the document allows. */
const MAX_SIZE = 1_000;

/** Whether a parameter has such a name, and is no time; `page[cursor]` is also called `cursor`. */
function isCalled(name: string, shape: Shape, pattern: RegExp): boolean {
  const names = [name, /\[(.*)\]$/.exec(name)?.[1] ?? name];
  return !shape.isTime && names.some((each) => pattern.test(normalizeName(each).replace('$', '')));
}

function called(query: readonly QueryParameter[], kind: keyof typeof PAGE_PARAMETERS): QueryParameter | undefined {
  return query.find(({ name, shape }) => isCalled(name, shape, PAGE_PARAMETERS[kind]));
}

/** Returns the page number of a list, or else its only number that is no size: `seite`, which starts at 1. */
function pageOf(query: readonly QueryParameter[]): QueryParameter | undefined {
  const numbers = query.filter((each) => each.shape.types.has('integer') && !called([each], 'size'));
  const [only, other] = numbers;
  const isFirst = only !== undefined && (only.shape.default ?? only.shape.minimum) === 1;
  return called(query, 'page') ?? (other === undefined && isFirst ? only : undefined);
}

/** Whether a parameter asks for a page. */
export function isPaging({ name, shape }: QueryParameter): boolean {
  return Object.values(PAGE_PARAMETERS).some((pattern) => isCalled(name, shape, pattern));
}

/** Finds how long pages are requested, as a value of `<list>.size`; undefined if the document states no maximum. */
export function matchPageSize(query: readonly QueryParameter[]): string | undefined {
  const size = called(query, 'size');
  const maximum = size?.shape.maximum;
  return size && typeof maximum === 'number' ? `${size.name}:${Math.min(maximum, MAX_SIZE)}` : undefined;
}

function tokenIn(signs: readonly Sign[], query: readonly QueryParameter[]): string | undefined {
  const tokens = signs.filter((sign) => sign.kind === 'token');
  const token = called(query, 'token')?.name;
  for (const { path, name, value } of tokens.filter(isNext)) {
    const isNumber = typeof value === 'number';
    // A bare `next` is a link, or a token if a parameter takes one: then only its value tells.
    if (!isNumber && /^next(page)?$/.test(name))
      return token === undefined || /(?:^|\.)_?links\./.test(path) ? `link:${path}` : undefined;
    const counted = /offset|skip|start/.test(name) ? called(query, 'offset') : pageOf(query);
    const parameter = isNumber ? counted?.name : token;
    if (parameter !== undefined) return `token:${path}:${parameter}`;
  }
  const cursor = tokens.find((sign) => !isNext(sign));
  return cursor && token !== undefined ? `token:${cursor.path}:${token}` : undefined;
}

/** Finds the value of `<list>.next`, if the document says it. @param own the parameters that have another use */
export function matchNextPage(endpoint: Endpoint, body: unknown, own: readonly string[]): string | undefined {
  const query = endpoint.query.filter(({ name }) => !own.includes(name));
  const signs = readSigns({ body, headers: {}, itemCount: 1, nextLink: undefined });
  const link = signs.find(({ kind }) => kind === 'link');
  if (link) return `link:${link.path}`;
  const token = tokenIn(signs, query);
  if (token !== undefined) return token;
  if (endpoint.responseHeaders.some((name) => name.toLowerCase() === 'link')) return 'header:link';
  const [page, after, offset] = [pageOf(query), called(query, 'after'), called(query, 'offset')];
  if (page) return `page:${page.name}`;
  if (after && signs.some(({ kind }) => kind === 'more')) return `after:${after.name}`;
  return offset && `offset:${offset.name}`;
}
