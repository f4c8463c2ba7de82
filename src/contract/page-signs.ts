import { descend, isJsonObject, type JsonObject, jsonOrText, nextLinkIn, urlOf } from './json.ts';

export interface PageResponse {
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly itemCount: number;
  /** 206 (RFC 9110) says that a part was sent. */
  readonly status?: number;
  readonly nextLink: string | undefined;
}

/** `more`, `earlier`: there is more after or before this page. `last`: has_more is false. `end`: next is null. */
type SignKind = 'link' | 'token' | 'total' | 'pages' | 'page' | 'offset' | 'more' | 'earlier' | 'last' | 'end';

export interface Sign {
  readonly kind: SignKind;
  /** As in a leaf: `meta.next_cursor`, `header.x-next-page`. */
  readonly path: string;
  /** In lower case, without separators; with the name of the parent where the key alone says nothing: `pagenumber`. */
  readonly name: string;
  /** A number, if it is an integer or the text of one. */
  readonly value: unknown;
}

type Place = Omit<Sign, 'kind' | 'value'>;

/** Whether a sign is called the next one. A token such as `end_cursor` may also be on the last page. */
export function isNext({ name }: Sign): boolean {
  return NEXT.test(name);
}

/** Words of names that are not about the pages of this list, and names of objects that are about something else. */
const UNRELATED =
  /^(self|first|sync|delta|rate|ratelimits?|retry|access|refresh|csrf|xsrf|auth|expires|query|request|trace|errors?|warnings?|facets?|aggregations?|filters?|shards|quotas?|usage|included|schema|debug|context)$/;
/** Words of names that lead back. */
const BACKWARD = /^(prev|previous|before|backwards?|earlier|newer|older)$/;
/** Objects that give their names to what is in them. */
const PARENTS = /^(next|pages?|total)$/;

const NEXT = /next|contin|hasmore|^more(url|uri|link|href)?$/;
const CURSOR = /cursor|marker|bookmark|scroll|token$|^(page)?(after|lastid|lastkey|lastevaluatedkey)$/;
const PAGE = /^(current)?page(number|num|no|index|current)?$|^(current|number)$/;
const OFFSET = /^(page)?(offset|skip|start(at|index)?|from)$/;
/** The normalized names of query parameters for pages. Some mean something else in a response. */
export const PAGE_PARAMETERS = {
  token: new RegExp(`${CURSOR.source}|contin|^pageinfo$`),
  page: PAGE,
  offset: OFFSET,
  size: /^(page)?(limit|size|top|take|maxresults|count|first|max(items)?)$|perpage$/,
  /** Of the id of the last item of the page before. */
  after: /^(starting)?after(id)?$|^before(id)?$/,
} as const;
const MORE = /more|next|truncated|incomplete|partial|exceeded|remaining/;
const LAST = /^(is)?(last(page)?|final|end|done|completed?|finished)$/;
const MORE_COUNT = /remaining|^more$|hasmore|morecount/;
const ITEMS =
  '(items|elements|results|records|hits|entries|rows|docs|objects|spaces|workspaces|agents|messages|(partner|cron)*jobs)';
const TOTAL = new RegExp(
  `^(num|nb)?${ITEMS}$|total(s|count|size|value|${ITEMS})?$|(?<!dis|ac|skip|attempt|retry)counts?$|^(num)?found$`,
);
const NUMBERS: readonly (readonly [SignKind, RegExp])[] = [
  ['pages', /^(page)?(total|num|nb|last|max)pages?$|^pages$|^page(total|count)s?$/],
  ['total', TOTAL],
  ['page', PAGE],
  ['offset', OFFSET],
  ['token', CURSOR],
];
const HEADER =
  /^(?:x-)?(?:wp-|ms-)?(total(?:-?(?:count|pages|items))?|next-(?:page|cursor|token|page-token|offset|link)|continuation(?:-token)?|cursor|(?:current-)?page(?:-number)?|offset|has-(?:more|next)|pagination)$/;

const LINK = /^(https?:|[/?.])|^[^ ]*\?[^ ]+=/i;
const DATE = /^\d{4}-\d\d-\d\d([T ]|$)/;

function wordsOf(key: string): readonly string[] {
  const parts = key.replace(/^@?odata\./i, '').replace(/([a-z\d])([A-Z])/g, '$1 $2');
  return parts.toLowerCase().match(/[a-z\d]+/g) ?? [];
}

/** Reads everything in a response that speaks of pages: in the body outside of the items, and in the headers. */
export function readSigns({ body, headers, itemCount, nextLink, status }: PageResponse): readonly Sign[] {
  const link = { kind: 'link', path: 'header.link', name: 'next', value: nextLink } as const;
  const signs = [
    ...(isJsonObject(body) ? signsIn(body) : []),
    ...(nextLink === undefined ? [] : [link]),
    ...Object.entries(headers).flatMap(([name, value]) => signsOfHeader(name, value)),
    ...signsOfRange(headers, status),
  ];
  // The number of the items of this page says nothing, unless it is called a total.
  return signs.filter((sign) => sign.kind !== 'total' || sign.value !== itemCount || sign.name.includes('total'));
}

/** Reads `Content-Range: items 0-9/25` and Heroku's `Next-Range`. A part of unknown total is not all. */
function signsOfRange(headers: PageResponse['headers'], status: number | undefined): readonly Sign[] {
  const { 'content-range': range = '', 'next-range': next } = headers;
  const [, total] = /\/\s*(\d{1,15})$/.exec(range) ?? [];
  const sign = (kind: SignKind, path: string, value: unknown): Sign => ({ kind, path, name: kind, value });
  return [
    ...(total === undefined ? [] : [sign('total', 'header.content-range', Number(total))]),
    ...(next === undefined ? [] : [sign('more', 'header.next-range', next)]),
    ...(status === 206 && total === undefined ? [sign('more', 'status 206', status)] : []),
  ];
}

function signsIn(object: JsonObject, prefix = '', parent = ''): readonly Sign[] {
  // `{current: 1, last: 3}`: elsewhere, `last` may be the number of an item.
  const isCurrent = Object.keys(object).some((key) => /^current$/i.test(key));
  return Object.entries(object).flatMap(([key, value]): readonly Sign[] => {
    const words = wordsOf(key);
    const own = words.join('');
    const place = { path: prefix + key, name: parent !== '' && !own.startsWith(parent) ? parent + own : own };
    if (words.some((word) => BACKWARD.test(word))) return value === true ? [{ ...place, kind: 'earlier', value }] : [];
    if (isCurrent && own === 'last' && Number.isInteger(value)) return [{ ...place, kind: 'pages', value }];
    const isHolder = typeof value === 'object' && value !== null;
    if (isHolder ? UNRELATED.test(own) : words.some((word) => UNRELATED.test(word))) return [];
    return isHolder ? signsWithin(value, place, own) : signsOfValue(place, value);
  });
}

/** Reads an object, or a list of links. What is called the next page, and is neither, says that there is one. */
function signsWithin(value: object, place: Place, own: string): readonly Sign[] {
  const isCalledNext = NEXT.test(place.name);
  const url = urlOf(Array.isArray(value) ? nextLinkIn(value) : isCalledNext ? value : undefined);
  if (url !== undefined) {
    const path = Array.isArray(value) ? `${place.path}.next` : place.path;
    return signsOfValue({ path, name: 'next' }, url);
  }
  const parent = PARENTS.test(own) ? own.replace(/^pages$/, 'page') : '';
  const inner = isJsonObject(value) ? signsIn(value, `${place.path}.`, parent) : [];
  if (inner.length > 0 || !(isCalledNext || CURSOR.test(own))) return inner;
  return [{ ...place, kind: Object.keys(value).length === 0 ? 'end' : 'more', value }];
}

function signsOfHeader(header: string, text: string): readonly Sign[] {
  const path = `header.${header}`;
  const [, key] = HEADER.exec(header) ?? [];
  if (key === undefined) return [];
  const object = jsonOrText(text);
  if (isJsonObject(object)) return signsIn(object, `${path}.`);
  return signsOfValue({ path, name: key.replaceAll('-', '') }, text);
}

function signsOfValue(place: Place, sent: unknown): readonly Sign[] {
  const value = toSignValue(sent);
  const kind = kindOf(place.name, value);
  return kind === undefined ? [] : [{ ...place, kind, value }];
}

/** Returns the boolean or the number that a text spells: `"true"`, `"25"`. A number would round a bigint: it is a text. */
function toSignValue(sent: unknown): unknown {
  if (typeof sent === 'bigint') return String(sent);
  if (typeof sent !== 'string') return sent;
  if (/^(true|false)$/i.test(sent)) return /^true$/i.test(sent);
  return /^-?\d{1,15}$/.test(sent) ? Number(sent) : sent;
}

function kindOf(name: string, value: unknown): SignKind | undefined {
  if (value === null || value === '')
    return [NEXT, CURSOR, OFFSET].some((pattern) => pattern.test(name)) ? 'end' : undefined;
  if (typeof value === 'string') return kindOfText(name, value);
  if (typeof value === 'number') return Number.isInteger(value) ? kindOfNumber(name, value) : undefined;
  const isLast = LAST.test(name);
  if (typeof value !== 'boolean' || !(isLast || MORE.test(name))) return undefined;
  return value === isLast ? 'last' : 'more';
}

function kindOfNumber(name: string, value: number): SignKind | undefined {
  const kind = MORE_COUNT.test(name) ? 'more' : NEXT.test(name) ? 'token' : undefined;
  if (kind) return value > 0 ? kind : 'end';
  return value < 0 ? undefined : NUMBERS.find(([, pattern]) => pattern.test(name))?.[0];
}

function kindOfText(name: string, value: string): SignKind | undefined {
  const [isCalledNext, isCursor] = [NEXT.test(name), CURSOR.test(name)];
  if (/(url|uri|href|link)$/.test(name) || (LINK.test(value) && !isCursor)) return isCalledNext ? 'link' : undefined;
  return isCursor || ((isCalledNext || OFFSET.test(name)) && !DATE.test(value)) ? 'token' : undefined;
}

/** Returns the value at a path of the body, or of a header: `header.x-next-page`. For a link object, its URL. */
export function valueAt(path: readonly string[], { body, headers, nextLink }: PageResponse): unknown {
  const [top, name = '', ...rest] = path;
  if (top !== 'header') return urlOf(descend(body, path.join('.')));
  if (name === 'link') return nextLink;
  const text = headers[name.toLowerCase()];
  return rest.length === 0 || text === undefined ? text : urlOf(descend(jsonOrText(text), rest.join('.')));
}
