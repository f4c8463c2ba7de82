import { isJsonObject, type JsonObject } from './json.ts';
import { descend, relationOf, urlIn, urlOf } from './json-path.ts';
import {
  announcesNext,
  isDate,
  isEnvelope,
  isIgnored,
  isLinkText,
  isSkippedContainer,
  isTime,
  isTokenName,
  namesNextPage,
  roleOfFlag,
  roleOfNumber,
  withParent,
} from './page-sign-roles.ts';
import { parseOrUndefined, readRange, toBoolean, toNumber, withoutVendor } from './page-sign-values.ts';
import { isPagingName, type Spelling, spellingOf, toWords } from './paging-names.ts';

/** The parts of a response that matter for paging. */
export interface PageResponse {
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number;
  readonly itemCount: number;
  /** Some services mark there that more items follow. */
  readonly lastItem?: JsonObject | undefined;
  /** The URLs of the Link header (RFC 8288) by relation: `next`, `prev`, `first`, `last`. */
  readonly headerLinks: Readonly<Record<string, string>>;
}

/** A value in a response that says something about its pages. */
export interface Sign<Value> {
  /** Where it is, as in a leaf: `meta.next_cursor`, `header.x-next-page`. */
  readonly path: string;
  readonly words: readonly string[];
  readonly spelling: Spelling;
  readonly value: Value;
}

/** A token of the next page. The last page may also have a weak one: `cursor`, `end_cursor`, `last_id`. */
export interface TokenSign extends Sign<string> {
  readonly isWeak: boolean;
  readonly isNumber: boolean;
}

/** Everything that a response says about its pages. */
export interface PageSigns {
  /** Links to the next page. */
  readonly links: Sign<string>[];
  readonly tokens: TokenSign[];
  /** Whether there is more. */
  readonly flags: Sign<boolean>[];
  /** The number of this page. */
  readonly pages: Sign<number>[];
  readonly offsets: Sign<number>[];
  readonly sizes: Sign<number>[];
  /** The size of the whole list. */
  readonly totals: Sign<number>[];
  /** Numbers that equal the item count of this page and are not called a total. */
  readonly counts: Sign<number>[];
  readonly pageTotals: Sign<number>[];
  /** Paths of next-page fields without a value: this is the last page. */
  readonly ends: string[];
  /** Status 206 without a range. */
  readonly partial: string[];
  /** Paths of values that announce more in an unknown way. */
  readonly unknown: string[];
}

const MAX_DEPTH = 6;
/** Stands for the last item in the path of a sign. */
const LAST_ITEM = '$last';

interface Place {
  readonly path: string;
  readonly words: readonly string[];
  readonly name: string;
  /** Whether it is within paging information. Elsewhere, only names that consist of paging words count. */
  readonly isPaging: boolean;
}

/** Reads what a response says about its pages, in the body outside of the items, in the headers, and by its status. */
export function readSigns(response: PageResponse): PageSigns {
  const signs: PageSigns = {
    links: [],
    tokens: [],
    flags: [],
    pages: [],
    offsets: [],
    sizes: [],
    totals: [],
    counts: [],
    pageTotals: [],
    ends: [],
    partial: [],
    unknown: [],
  };
  const reader = new SignReader(signs, response);
  if (isJsonObject(response.body))
    reader.readObject(response.body, { path: '', words: [], name: '', isPaging: true }, 0);
  reader.readHeaders();
  if (response.lastItem) reader.readLastItem(response.lastItem);
  reader.readLength();
  return signs;
}

class SignReader {
  private readonly signs: PageSigns;
  private readonly response: PageResponse;
  private length: Sign<number> | undefined;

  constructor(signs: PageSigns, response: PageResponse) {
    this.signs = signs;
    this.response = response;
  }

  /** Reads an object and what is in it, except for the items. */
  readObject(object: JsonObject, parent: Place, depth: number): void {
    for (const [key, value] of Object.entries(object)) {
      const own = toWords(key);
      const words = withParent(own, parent.words);
      const path = parent.path === '' ? key : `${parent.path}.${key}`;
      const place: Place = { path, words, name: key, isPaging: parent.isPaging };
      if (own.join() === 'before' && this.isOfLastItem(value)) this.addToken(place, String(value), false);
      if (isIgnored(own, isJsonObject(value))) continue;
      if (Array.isArray(value)) this.readArray(value, place);
      else if (isJsonObject(value)) this.readNested(value, place, depth);
      else this.readValue(value, place);
    }
  }

  readHeaders(): void {
    const { headers, headerLinks, status } = this.response;
    const { next, prev, first, last } = headerLinks;
    const link: Place = { path: 'header.link', words: ['next'], name: 'link', isPaging: true };
    if (next !== undefined) this.signs.links.push(signOf(link, next));
    else if (prev === undefined && first !== undefined && last !== undefined && first !== last)
      this.signs.unknown.push('header.link');
    const range = readRange(headers['content-range']);
    if (range) {
      const place: Place = { path: 'header.content-range', words: ['range'], name: 'range', isPaging: true };
      this.signs.offsets.push(signOf({ ...place, words: ['offset'] }, range.start));
      if (range.total !== undefined) this.signs.totals.push(signOf(place, range.total));
    }
    if (status === 206 && range?.total === undefined) this.signs.partial.push('status 206');
    else if (range && range.total === undefined && this.response.itemCount > 0)
      this.signs.partial.push('header.content-range');
    for (const [name, value] of Object.entries(headers)) {
      if (name !== 'link' && name !== 'content-range') this.readHeader(name.toLowerCase(), value);
    }
  }

  /** Reads the cursor of the last item, if items are envelopes with cursors, and marks that more items follow. */
  readLastItem(item: JsonObject): void {
    const { cursor, ...others } = item;
    const isEdge = typeof cursor === 'string' && Object.values(others).every(isJsonObject);
    const place: Place = { path: `${LAST_ITEM}.cursor`, words: ['cursor'], name: 'cursor', isPaging: true };
    if (isEdge && cursor !== '') this.addToken(place, cursor, false);
    for (const key of Object.keys(item).filter((each) => /^_more_/.test(each) && item[each] === true)) {
      this.signs.flags.push(signOf({ ...place, path: `${LAST_ITEM}.${key}`, name: key }, true));
    }
  }

  /** Reads `length` beside the items. It is the size of the list only if nothing else states one. */
  readLength(): void {
    const { signs, response, length } = this;
    if (!length || signs.totals.length + signs.offsets.length + signs.pages.length > 0) return;
    (length.value === response.itemCount ? signs.counts : signs.totals).push(length);
  }

  private readHeader(name: string, value: string): void {
    const full = name.replace(/^x-/, '');
    if (isIgnored(toWords(full), false)) return;
    const own = withoutVendor(full);
    const words = toWords(own);
    const place: Place = { path: `header.${name}`, words, name: own, isPaging: false };
    if (!isPagingName(words) || words.join() === 'token') return;
    const parsed = value.trim().startsWith('{') ? parseOrUndefined(value) : undefined;
    if (isJsonObject(parsed)) this.readObject(parsed, { ...place, words: [], isPaging: true }, 1);
    else this.readValue(value.trim(), place);
  }

  private readNested(value: JsonObject, place: Place, depth: number): void {
    const { words, path } = place;
    if (isSkippedContainer(words) || depth >= MAX_DEPTH) return;
    const url = urlIn(value);
    const isNext = value.rel !== undefined && relationOf(value) === 'next';
    if ((isNext || announcesNext(words)) && url !== undefined) {
      this.readValue(url, isNext ? { ...place, words: ['next'] } : place);
      return;
    }
    if (words.join() === 'continue') this.readContinue(value, path);
    const before = countOf(this.signs);
    const isPaging = place.isPaging && (isPagingName(words) || isEnvelope(words));
    this.readObject(value, { ...place, isPaging }, depth + 1);
    if (!announcesNext(words.slice(-1)) && !(isPagingName(words) && isTokenName(words))) return;
    if (Object.keys(value).length === 0) this.signs.ends.push(path);
    else if (countOf(this.signs) === before) this.signs.unknown.push(path);
  }

  /** Reads an object with the parameters of the next request, as MediaWiki sends it: `continue: { apcontinue: … }`. */
  private readContinue(parameters: JsonObject, path: string): void {
    for (const [name, value] of Object.entries(parameters)) {
      if (typeof value !== 'string' || value === '' || isPagingName(toWords(name))) continue;
      const place: Place = { path: `${path}.${name}`, words: [name], name, isPaging: true };
      this.signs.tokens.push({ ...signOf(place, value), isWeak: false, isNumber: false });
    }
  }

  /** Reads a list of links (`[{ rel: 'next', href }]`). Any other array under a next-page name is unknown. */
  private readArray(list: readonly unknown[], place: Place): void {
    const links = list
      .filter(isJsonObject)
      .filter((item) => urlIn(item) !== undefined && relationOf(item) !== undefined);
    for (const item of links) {
      if (relationOf(item) !== 'next') continue;
      this.readValue(urlIn(item), { ...place, path: `${place.path}.next`, words: ['next'] });
    }
    if (links.length > 0 || !namesNextPage(place.words) || !isPagingName(place.words)) return;
    if (list.length === 0) this.signs.ends.push(place.path);
    else this.signs.unknown.push(place.path);
  }

  private readValue(value: unknown, place: Place): void {
    const { words, path } = place;
    const isKnown = isPagingName(words);
    const flag = toBoolean(value);
    const number = toNumber(value);
    if (words.join() === 'length' && place.isPaging && number !== undefined) this.length = signOf(place, number);
    if (value === null || value === '') {
      if (isKnown && namesNextPage(words)) this.signs.ends.push(path);
    } else if (flag !== undefined) {
      const saysMore = isKnown || (place.isPaging && announcesNext(words)) ? roleOfFlag(words) : undefined;
      if (saysMore !== undefined) this.signs.flags.push(signOf(place, flag === saysMore));
    } else if (place.isPaging || isKnown) {
      if (number !== undefined) this.readNumber(number, place, isKnown);
      else if (typeof value === 'string') this.readText(value, place, isKnown);
    }
  }

  private readNumber(value: number, place: Place, isKnown: boolean): void {
    const { signs } = this;
    const { words } = place;
    const sign = signOf(place, value);
    const role = roleOfNumber(words, isKnown);
    if (role === 'more') signs.flags.push(signOf(place, value > 0));
    else if (role === 'next' && value <= 0) signs.ends.push(place.path);
    else if (role === 'next' || role === 'token') this.addToken(place, String(value), true);
    if (value < 0) return;
    const isOfThisPage = value === this.response.itemCount && !words.includes('total') && !words.includes('totals');
    if (role === 'total') (isOfThisPage ? signs.counts : signs.totals).push(sign);
    if (role === 'size' && value > 0) signs.sizes.push(sign);
    if (role === 'page-total') signs.pageTotals.push(sign);
    if (role === 'page') signs.pages.push(sign);
    if (role === 'offset') signs.offsets.push(sign);
  }

  private readText(text: string, place: Place, isKnown: boolean): void {
    const { words, path } = place;
    const isOther = !isKnown && !announcesNext(words) && !words.includes('cursor') && !words.includes('marker');
    if (isOther || (isDate(text) && isTime(words)) || !isTokenName(words)) return;
    const isUrlName = words.some((word) => /^(url|uri|href|link)$/.test(word));
    if (isLinkText(text) || isUrlName) {
      if (announcesNext(words)) this.signs.links.push(signOf(place, text));
    } else if (/^[a-z][a-z+.-]*:\/\//i.test(text)) this.signs.unknown.push(path);
    else this.addToken(place, text, false);
  }

  /** Whether a value is a field of the last item. Then `before` leads to older items, not back. */
  private isOfLastItem(value: unknown): boolean {
    const isText = (typeof value === 'string' && value !== '') || typeof value === 'number';
    return isText && Object.values(this.response.lastItem ?? {}).some((each) => String(each) === String(value));
  }

  private addToken(place: Place, value: string, isNumber: boolean): void {
    const isWeak = !announcesNext(place.words);
    this.signs.tokens.push({ ...signOf(place, value), isWeak, isNumber });
  }
}

function signOf<Value>({ path, words, name }: Place, value: Value): Sign<Value> {
  return { path, words, spelling: spellingOf(name), value };
}

function countOf(signs: PageSigns): number {
  return Object.values(signs).reduce((sum, list) => sum + list.length, 0);
}

/** Returns the value at the path of a sign: of the body, as `descend` does, or of a header. For a link object, its URL. */
export function valueAt(path: readonly string[], { body, headers, headerLinks, lastItem }: PageResponse): unknown {
  const [top, name = '', ...rest] = path;
  if (top === LAST_ITEM) return lastItem?.[name];
  if (top !== 'header') return urlOf(descend(body, path.join('.')));
  if (name === 'link') return headerLinks.next;
  const value = headers[name.toLowerCase()];
  return rest.length === 0 ? value : urlOf(descend(parseOrUndefined(value ?? ''), rest.join('.')));
}
