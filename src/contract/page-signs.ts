import { isJsonObject, type JsonObject } from './json.ts';
import { descend, relationOf, urlIn, urlOf } from './json-path.ts';

/** The parts of a response that may speak of pages. */
export interface PageResponse {
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number;
  readonly itemCount: number;
  /** Some services mark there that more items follow. */
  readonly lastItem?: JsonObject | undefined;
  /** The URLs of the Link header (RFC 8288) by relation. */
  readonly headerLinks: Readonly<Partial<Record<'next' | 'last', string>>>;
}

/** A value of a response that may speak of pages. */
export interface Sign {
  /** As in a leaf: `meta.next_cursor`, `header.x-next-page`. */
  readonly path: string;
  /** As the service spells it. */
  readonly key: string;
  /** In lower case, without separators; with the name of the parent where the key alone says nothing: `pagenumber`. */
  readonly name: string;
  readonly value: unknown;
}

export type NumberSign = Sign & { readonly value: number };
export type TokenSign = Sign & { readonly value: string; readonly isNumber: boolean };

/** Everything that a response says about its pages. */
export interface Signs {
  readonly links: (Sign & { readonly value: string })[];
  /** Tokens of the next page. */
  readonly next: TokenSign[];
  /** Tokens that the last page may also have: `cursor`, `end_cursor`, `last_id`. */
  readonly cursors: TokenSign[];
  readonly more: Sign[];
  /** Flags such as `has_older`: more of a list, but what comes before the messages of a session. */
  readonly older: Sign[];
  /** Values that say that this is the last page. */
  readonly ends: Sign[];
  /** Flags such as `has_more: false`: stronger than a token. */
  readonly lastFlags: Sign[];
  readonly earlier: Sign[];
  readonly totals: NumberSign[];
  readonly pageTotals: NumberSign[];
  readonly pages: NumberSign[];
  readonly offsets: NumberSign[];
  readonly sizes: NumberSign[];
  /** Values that announce more in an unknown way. */
  readonly unknown: Sign[];
}

/** Words in names that are not about the next page. */
const OTHER = new Set(
  'self first sync delta rate ratelimit retry access refresh csrf xsrf auth bearer expires expiry query request trace'.split(
    ' ',
  ),
);
const BACK = /^(prev|previous|before|backward|backwards|earlier|newer)$/;
/** Objects that say nothing about pages. */
const SKIPPED =
  /^(errors?|warnings?|facets?|aggregations?|aggs|filters?|shards|rate|ratelimit|ratelimits|quotas?|usage|included|schema|debug|timing|request|context)$/;
/** Objects that give their names to what is in them. */
const PARENTS = /^(next|pages?|cursors?|totals?)$/;

const NEXT = /next|contin|^more$|^more(url|uri|link|href|results|items|pages|available)$|hasmore/;
const CURSOR =
  /cursor|marker|bookmark|scroll|resumption|token$|^(page)?(after|position|end|lastid|lastkey|lastevaluatedkey)$/;
const MORE = /more|next|truncated|incomplete|partial|exceeded|older|remaining/;
const LAST = /^(is)?(last|lastpage|final|end|done|complete|completed|finished|exhausted)$/;
const PAGE_TOTAL =
  /^(page)?(total|num|nb|numberof|last|max)?pages$|^(page)?lastpage$|^pages?(total|count)s?$|^totalpage$/;
const ITEMS = '(items|elements|results|records|hits|entries|rows|docs|objects|matches)';
const TOTAL = new RegExp(
  `^(num|nb|numberof)?${ITEMS}$|^totals?(${ITEMS}|count|size|number)?$|total(s|count|size|${ITEMS})?$|counts?$|^(num)?found$|^overall$|^length$`,
);
const NO_TOTAL = /discount|account|skip|took|time|attempt|retry|totalms$/;
const PAGE = /^(current)?page(number|num|no|index|current)?$|^(current|number)$/;
const OFFSET = /^(page)?(offset|skip|skipcount|start|startat|startindex|startposition|from)$/;
const SIZE = /^(page)?(limit|size|top|take|maxresults|maxitems)$|perpage$|^pagesize$/;
/** Of headers, only those that are called exactly so speak of pages. */
const HEADER =
  /^(total(count|items|records|results|pages)?|pages|records|next(page|cursor|token|pagetoken|link|offset)?|continuation(token)?|cursor|(current)?page(number|size|count)?|perpage|offset|limit|hasmore|hasnext(page)?|pagination)$/;

const LINK = /^(https?:[\\/]{2}|[\\/]|\?|\.{1,2}\/|[\w$.~%/-]*\?[\w$.~%[\]-]+=)/i;
const DATE = /^\d{4}-\d\d-\d\d([T ]|$)/;
const MAX_DEPTH = 6;

function wordsOf(name: string): readonly string[] {
  const parts = name.slice(0, 200).replace(/([a-z\d])([A-Z])/g, '$1 $2');
  return parts
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter((word) => word !== '');
}

/** The value that a text spells; anything else as it is. */
function spelledOut(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'string') return value;
  if (/^(true|false|yes|no)$/i.test(value)) return /^(true|yes)$/i.test(value);
  return /^-?\d{1,15}$/.test(value) ? Number(value) : value;
}

/** Reads everything in a response that speaks of pages: in the body outside of the items, in the headers, and its status. */
export function readSigns(page: PageResponse): Signs {
  return new SignReader(page).signs;
}

class SignReader {
  readonly signs: Signs = {
    links: [],
    next: [],
    cursors: [],
    more: [],
    older: [],
    ends: [],
    lastFlags: [],
    earlier: [],
    totals: [],
    pageTotals: [],
    pages: [],
    offsets: [],
    sizes: [],
    unknown: [],
  };
  private readonly itemCount: number;

  constructor({ body, headers, status, itemCount, lastItem, headerLinks }: PageResponse) {
    this.itemCount = itemCount;
    if (isJsonObject(body)) this.readObject(body, '', '', 0);
    for (const [name, value] of Object.entries(headers)) this.readHeader(name, value);
    const { next, last } = headerLinks;
    const link = { path: 'header.link', key: 'next', name: 'next' };
    if (next !== undefined) this.signs.links.push({ ...link, value: next });
    else if (last !== undefined) this.signs.unknown.push({ ...link, value: last });
    const contentRange = headers['content-range'];
    const [, total] = /\/(\d+)\s*$/.exec(contentRange ?? '') ?? [];
    const range = { path: 'header.content-range', key: 'total', name: 'total', value: contentRange };
    if (total !== undefined) this.signs.totals.push({ ...range, value: Number(total) });
    else if (contentRange !== undefined) this.signs.unknown.push(range);
    else if (status === 206) this.signs.unknown.push({ ...range, path: 'status 206' });
    if (lastItem) this.readLastItem(lastItem);
  }

  private readObject(object: JsonObject, path: string, parent: string, depth: number): void {
    for (const [key, value] of Object.entries(object)) this.read({ path: path + key, key, name: parent, value }, depth);
  }

  /** Reads a flag such as `_more_changes`, or a cursor beside the resource: `{ cursor, space: {…} }`. */
  private readLastItem(item: JsonObject): void {
    for (const [key, value] of Object.entries(item)) {
      const others = Object.values(item).filter((each) => each !== value);
      const isBeside = others.length > 0 && others.every(isJsonObject);
      const isMark = key === 'cursor' ? isBeside : key.startsWith('_more');
      if (isMark) this.readValue({ path: `last item.${key}`, key, name: wordsOf(key).join(''), value });
    }
  }

  private readHeader(name: string, value: string): void {
    const words = wordsOf(name);
    if (words.some((word) => OTHER.has(word) || BACK.test(word))) return;
    const own = words[0] === 'x' ? words.slice(1) : words;
    // Vendors put their names first: `x-wp-total`, `x-ms-continuation`.
    const isVendor = !HEADER.test(own.join('')) && /^(total|next|continuation)/.test(own[1] ?? '');
    const known = (isVendor ? own.slice(1) : own).join('');
    if (!HEADER.test(known)) return;
    const key = name.replace(/^x-/, '').slice(isVendor ? (own[0] ?? '').length + 1 : 0);
    if (value.startsWith('{')) {
      const parsed = parseOrUndefined(value);
      if (isJsonObject(parsed)) this.readObject(parsed, `header.${name}.`, '', 1);
    } else this.readValue({ path: `header.${name}`, key, name: known, value });
  }

  /** @param sign with the name of its parent in place of its own */
  private read({ path, key, name: parent, value }: Sign, depth: number): void {
    const words = wordsOf(key.replace(/^@?odata\./i, ''));
    const own = words.join('');
    if (words.some((word) => BACK.test(word))) {
      if (spelledOut(value) === true) this.signs.earlier.push({ path, key, name: own, value });
      return;
    }
    const isNested = isJsonObject(value);
    if (isNested ? words.length === 1 && OTHER.has(own) : words.some((word) => OTHER.has(word))) return;
    const sign = { path, value, ...qualify(key, own, parent) };
    if (isNested) this.readNested(value, sign, own, depth);
    else if (Array.isArray(value)) this.readArray(value, sign);
    else this.readValue(sign);
  }

  private readNested(value: JsonObject, sign: Sign, own: string, depth: number): void {
    const url = urlIn(value);
    if (url !== undefined && (NEXT.test(sign.name) || relationOf(value) === 'next')) {
      this.readValue({ ...sign, name: 'next', value: url });
      return;
    }
    if (SKIPPED.test(own) || depth >= MAX_DEPTH) return;
    const before = this.count();
    this.readObject(value, `${sign.path}.`, PARENTS.test(own) ? own : '', depth + 1);
    if (!NEXT.test(own) && own !== 'lastevaluatedkey') return;
    if (Object.keys(value).length === 0) this.signs.ends.push(sign);
    else if (this.count() === before) this.signs.unknown.push(sign);
  }

  /** Reads a list of links: `[{ rel: 'next', href }]`. */
  private readArray(list: readonly unknown[], sign: Sign): void {
    const links = list
      .filter(isJsonObject)
      .filter((item) => urlIn(item) !== undefined && relationOf(item) !== undefined);
    const next = links.find((item) => relationOf(item) === 'next');
    if (next) this.readValue({ path: `${sign.path}.next`, key: 'next', name: 'next', value: urlIn(next) });
    if (links.length > 0 || !NEXT.test(sign.name)) return;
    if (list.length === 0) this.signs.ends.push(sign);
    else this.signs.unknown.push(sign);
  }

  private readValue(sign: Sign): void {
    const value = spelledOut(sign.value);
    if (value === null || value === '') {
      if (NEXT.test(sign.name) || CURSOR.test(sign.name) || OFFSET.test(sign.name)) this.signs.ends.push(sign);
    } else if (typeof value === 'boolean') this.readFlag(sign, value);
    else if (typeof value === 'number') this.readNumber({ ...sign, value });
    else if (typeof value === 'string') this.readText({ ...sign, value });
  }

  private readFlag(sign: Sign, value: boolean): void {
    const isLast = LAST.test(sign.name);
    if (!isLast && !MORE.test(sign.name)) return;
    if (value === isLast) this.signs.lastFlags.push(sign);
    else (sign.name.includes('older') ? this.signs.older : this.signs.more).push(sign);
  }

  private readNumber(sign: NumberSign): void {
    const { name, value } = sign;
    const { signs } = this;
    if (!Number.isInteger(value)) return;
    const token = { ...sign, value: String(value), isNumber: true };
    if (/remaining|^more$|hasmore|morecount/.test(name)) (value > 0 ? signs.more : signs.ends).push(sign);
    else if (PAGE_TOTAL.test(name)) signs.pageTotals.push(sign);
    else if (NEXT.test(name) && value > 0) signs.next.push(token);
    else if (NEXT.test(name)) signs.ends.push(sign);
    else if (TOTAL.test(name) && !NO_TOTAL.test(name)) this.readTotal(sign);
    else if (PAGE.test(name)) signs.pages.push(sign);
    else if (OFFSET.test(name)) signs.offsets.push(sign);
    else if (SIZE.test(name)) signs.sizes.push(sign);
    else if (CURSOR.test(name)) signs.cursors.push(token);
  }

  /** A number of the items of this page says nothing, unless it is called a total. */
  private readTotal(sign: NumberSign): void {
    const isOfPage = sign.value === this.itemCount && !sign.name.includes('total');
    if (sign.value >= 0 && !isOfPage) this.signs.totals.push(sign);
  }

  private readText(sign: Sign & { readonly value: string }): void {
    const { name, value } = sign;
    const isLink = LINK.test(value) || /(url|uri|href|link)$/.test(name);
    const isToken = CURSOR.test(name) && !isLink;
    if (DATE.test(value) && !/cursor|token|marker/.test(name)) return;
    if (!NEXT.test(name)) {
      if (isToken || (OFFSET.test(name) && !isLink)) this.signs.cursors.push({ ...sign, isNumber: false });
    } else if (isLink) this.signs.links.push(sign);
    else if (/^[a-z][a-z+.-]*:\/\//i.test(value)) this.signs.unknown.push(sign);
    else this.signs.next.push({ ...sign, isNumber: false });
  }

  private count(): number {
    return Object.values(this.signs).reduce((sum, list: readonly Sign[]) => sum + list.length, 0);
  }
}

/** Adds the parent where a key alone is ambiguous: `page.number`, `next.cursor`, `cursors.next`, `total.value`. */
function qualify(key: string, own: string, parent: string): Pick<Sign, 'key' | 'name'> {
  if (parent === 'next') return { key, name: `next${own}` };
  if (parent.startsWith('cursor') && own === 'next') return { key: 'cursor', name: 'nextcursor' };
  if (parent.startsWith('total') && (own === 'value' || own === 'count')) return { key, name: 'total' };
  return parent.startsWith('page') && !own.startsWith('page') ? { key, name: `page${own}` } : { key, name: own };
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the value at a path of the body, or of a header: `header.x-next-page`. For a link object, its URL. */
export function valueAt(path: readonly string[], { body, headers, headerLinks }: PageResponse): unknown {
  const [top, name = '', ...rest] = path;
  if (top !== 'header') return urlOf(descend(body, path.join('.')));
  if (name === 'link') return headerLinks.next;
  const value = headers[name.toLowerCase()];
  return rest.length === 0 ? value : urlOf(descend(parseOrUndefined(value ?? ''), rest.join('.')));
}
