import { normalizeName } from '../contract/field-names.ts';
import { PAGE_PARAMETERS, readSigns } from '../contract/page-signs.ts';
import type { Endpoint, EndpointParameter } from './endpoints.ts';

type Query = readonly EndpointParameter[];

/** Returns the first parameter with such a name; `page[cursor]` is also called `cursor`. */
function called(query: Query, kind: keyof typeof PAGE_PARAMETERS): EndpointParameter | undefined {
  return query.find(({ name }) =>
    [name, /\[(.*)\]$/.exec(name)?.[1] ?? name].some((each) =>
      PAGE_PARAMETERS[kind].test(normalizeName(each).replace('$', '')),
    ),
  );
}

/** Returns the page number of a list, or else its only number that is no size: `seite`, which starts at 1. */
function pageOf(query: Query): EndpointParameter | undefined {
  const numbers = query.filter((each) => each.shape.types.has('integer') && !called([each], 'size'));
  const [only, other] = numbers;
  return called(query, 'page') ?? (other === undefined && only?.shape.start === 1 ? only : undefined);
}

/**
 * Finds how the next page of a list is requested, as a value of `<list>.next`; undefined if the document does not say.
 * @param body an example of the response
 * @param own the names of query parameters that have another use
 */
export function matchNextPage(endpoint: Endpoint, body: unknown, own: readonly string[]): string | undefined {
  const query = endpoint.parameters.filter(({ name, place }) => place === 'query' && !own.includes(name));
  const [page, offset, token] = [pageOf(query), called(query, 'offset'), called(query, 'token')?.name];
  const signs = readSigns({ body, headers: {}, itemCount: 1, nextLink: undefined });
  const link = signs.find(({ kind }) => kind === 'link');
  if (link) return `link:${link.path}`;
  const tokens = signs.filter((sign) => sign.kind === 'token');
  for (const { path, name, isNumber } of tokens.filter(({ isNext }) => isNext)) {
    if (!isNumber && /^next(page)?$/.test(name)) return nextValue(path, token);
    const parameter = isNumber ? (/offset|skip|start/.test(name) ? offset : page)?.name : token;
    if (parameter !== undefined) return `token:${path}:${parameter}`;
  }
  const cursor = tokens.find(({ isNext }) => !isNext);
  if (cursor && token !== undefined) return `token:${cursor.path}:${token}`;
  if (endpoint.responseHeaders.some((name) => name.toLowerCase() === 'link')) return 'header:link';
  const after = signs.some(({ kind }) => kind === 'more') ? called(query, 'after') : undefined;
  return numbered('page', page) ?? numbered('after', after) ?? numbered('offset', offset);
}

function numbered(kind: 'page' | 'after' | 'offset', parameter: EndpointParameter | undefined): string | undefined {
  if (parameter === undefined) return undefined;
  return `${kind}:${parameter.name}${kind === 'page' && parameter.shape.start === 0 ? ':0' : ''}`;
}

/** A bare `next` is a link, or a token if a parameter takes one: then only its value tells. */
function nextValue(path: string, token: string | undefined): string | undefined {
  return token === undefined || /(?:^|\.)_?links\./.test(path) ? `link:${path}` : undefined;
}
