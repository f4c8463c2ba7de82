import type { JsonObject } from './json.ts';
import { directionOfFlag } from './page-sign-roles.ts';
import type { PageSigns, Sign } from './page-signs.ts';

/** What a response says about further pages. */
export interface Outlook {
  /** Signs that there is more, with their paths: `meta.total: 5, and 2 read`. */
  readonly certain: readonly string[];
  /** Signs that there may be more: a full page, a cursor that the last page may also have. */
  readonly possible: readonly string[];
  /** Whether the response says where the list ends. */
  readonly isStated: boolean;
}

/** How the items of a page relate to those read before. */
export type Comparison =
  /** @property repeated how many items at the start of the page ended the one before */
  { readonly kind: 'new'; readonly repeated: number } | { readonly kind: 'empty' | 'repeated' | 'overlapping' };

/**
 * Returns a text that identifies each item on a page: its id, or the whole item if ids are missing or not unique.
 * @param idOf returns the id of an item, if it has one
 */
export function identify(
  items: readonly JsonObject[],
  idOf: (item: JsonObject) => string | undefined,
): readonly string[] {
  const ids = items.map(idOf);
  const known = ids.filter((id) => id !== undefined);
  if (known.length === items.length && new Set(known).size === items.length) return known;
  return items.map((item) =>
    JSON.stringify(item, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value)),
  );
}

/** Returns a 53-bit hash. */
export function fingerprint(text: string): number {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    high = Math.imul(high ^ code, 2654435761);
    low = Math.imul(low ^ code, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return 4294967296 * (2097151 & low) + (high >>> 0);
}

interface Range {
  readonly smallest: number;
  readonly largest: number;
}

/** What has been read of a list, and what its pages stated. Keeps one page and fingerprints, not the list. */
export class PageProgress {
  /** How many different items were read. */
  read = 0;
  pagesRead = 0;
  /** How many pages in a row had no items. */
  emptyPages = 0;
  private first: ReadonlySet<string> = new Set();
  private last: readonly string[] = [];
  /** The direction in which the first page announced more. Later pages may also have flags for the other direction. */
  private direction: 'older' | 'newer' | undefined;
  private readonly pages = new Set<number>();
  private readonly totals = new Map<string, Range>();
  /** Paths of numbers that equaled the item count of a page. */
  private readonly counts = new Set<string>();
  private readonly pageTotals = new Map<string, number>();

  /** Compares the items of a possible next page with those read before. */
  compare(ids: readonly string[]): Comparison {
    if (ids.length === 0) return { kind: 'empty' };
    const repeated = this.overlap(ids);
    const rest = ids.slice(repeated);
    const last = new Set(this.last);
    if (rest.length === 0 || this.pages.has(fingerprint(ids.join('\n')))) return { kind: 'repeated' };
    if (rest.every((id) => last.has(id) || this.first.has(id))) return { kind: 'repeated' };
    if (rest.some((id) => last.has(id) || this.first.has(id))) return { kind: 'overlapping' };
    return { kind: 'new', repeated };
  }

  /**
   * Adds a page.
   * @param repeated how many items at its start were read before
   */
  add(ids: readonly string[], repeated: number, signs: PageSigns): void {
    if (this.pagesRead === 0) {
      this.first = new Set(ids);
      this.direction = signs.flags
        .map(({ words, value }) => (value ? directionOfFlag(words) : undefined))
        .find(Boolean);
    }
    this.read += ids.length - repeated;
    this.pagesRead += 1;
    this.emptyPages = ids.length === 0 ? this.emptyPages + 1 : 0;
    if (ids.length > 0) {
      this.last = ids;
      this.pages.add(fingerprint(ids.join('\n')));
    }
    for (const { path } of signs.counts) this.counts.add(path);
    for (const { path, value } of this.realTotals(signs)) {
      const { smallest = value, largest = value } = this.totals.get(path) ?? {};
      this.totals.set(path, { smallest: Math.min(smallest, value), largest: Math.max(largest, value) });
    }
    for (const { path, value } of signs.pageTotals) this.pageTotals.set(path, value);
  }

  /** Returns what the last page says about further pages. */
  outlook(signs: PageSigns, itemCount: number): Outlook {
    const { tokens, pageTotals } = signs;
    const flags = signs.flags.filter(({ words, value }) => {
      const direction = directionOfFlag(words);
      return direction === undefined || direction === this.direction || (this.direction === undefined && !value);
    });
    const totals = this.realTotals(signs);
    const saysMore = flags.filter(({ value }) => value);
    const saysEnd = saysMore.length === 0 && (signs.ends.length > 0 || flags.length > 0);
    const missing = [...totals.filter(({ value }) => value > this.read), ...this.missingPages(pageTotals)];
    const isComplete = totals.length + pageTotals.length > 0 && missing.length === 0;
    const isLastFlag = saysMore.length === 0 && flags.length > 0;
    const strong = isLastFlag ? [] : tokens.filter(({ isWeak }) => !isWeak);
    const weak = saysEnd || isComplete ? [] : tokens.filter(({ isWeak }) => isWeak);
    const isOpen = !saysEnd && totals.length + pageTotals.length === 0;
    const partial = isOpen ? signs.partial : [];
    // Without any items, a part of the list would look like an empty list.
    const isOnlyPart = this.read === 0;
    return {
      certain: [
        ...[...signs.links, ...strong, ...saysMore].map(({ path }) => path),
        ...missing.map(({ path, value }) => `${path}: ${value}, and ${this.describeRead(path)}`),
        ...signs.unknown,
        ...(isOnlyPart ? partial : []),
      ],
      possible: [
        ...weak.map(({ path }) => path),
        ...(isOpen ? fullPages(signs, itemCount) : []),
        ...(isOnlyPart ? [] : partial),
      ],
      isStated: saysEnd || totals.length + pageTotals.length > 0,
    };
  }

  /** Returns the first stated size of the list that differs from the number of items read: `total: 5, and 6 read`. */
  findMismatch(): string | undefined {
    const [wrong] = [...this.totals].filter(([, { smallest, largest }]) => this.read < smallest || this.read > largest);
    return wrong && `${wrong[0]}: ${wrong[1].largest}, and ${this.describeRead(wrong[0])}`;
  }

  /** Leaves out numbers that equaled the item count of an earlier page: they are not totals. */
  private realTotals({ totals }: PageSigns): readonly Sign<number>[] {
    return totals.filter(({ path }) => !this.counts.has(path));
  }

  private missingPages(signs: readonly Sign<number>[]): readonly Sign<number>[] {
    const isAllRead = (value: number): boolean => this.emptyPages > 0 && value === this.read;
    return signs.filter(({ value }) => value > this.pagesRead && !isAllRead(value));
  }

  private describeRead(path: string): string {
    if (this.totals.has(path) || !this.pageTotals.has(path)) return `${this.read} read`;
    return `${this.pagesRead} ${this.pagesRead === 1 ? 'page' : 'pages'} read`;
  }

  /** Returns how many items at the start of the page repeat the end of the previous one. */
  private overlap(ids: readonly string[]): number {
    const [start] = ids;
    const at = start === undefined ? -1 : this.last.lastIndexOf(start);
    if (at === -1) return 0;
    const end = this.last.slice(at);
    return end.every((id, index) => ids[index] === id) ? end.length : 0;
  }
}

/** Returns the paths of page sizes that the page fills. A bare `size` counts only beside a page number or an offset. */
function fullPages({ sizes, pages, offsets }: PageSigns, itemCount: number): readonly string[] {
  const isNumbered = pages.length + offsets.length > 0;
  return sizes
    .filter(({ words, value }) => itemCount >= value && (isNumbered || words.join() !== 'size'))
    .map(({ path }) => path);
}
