import { isJsonObject, type JsonObject } from './json.ts';
import { isLinkText, isSkippedContainer } from './page-sign-roles.ts';
import { toBoolean } from './page-sign-values.ts';
import type { PageSigns } from './page-signs.ts';
import { isPagingName, toWords } from './paging-names.ts';

/** A value in a response that says that something comes before what it sent. */
export interface EarlierSign {
  readonly path: string;
  /** Whether it is a flag. A cursor to read back with may be there in every response. */
  readonly isCertain: boolean;
}

const EARLIER = /^(prev|previous|before|backward|backwards|earlier)$/;
const CURSOR = /^(cursors?|token|marker)$/;
const MAX_DEPTH = 4;

function isEarlier(words: readonly string[]): boolean {
  const isBack = (word: string): boolean => EARLIER.test(word);
  return words.some(isBack) && words.every((word) => isBack(word) || isPagingName([word]));
}

function isCursor(value: unknown, words: readonly string[], parent: readonly string[]): boolean {
  const isNamed = words.join() === 'before' || [...words, ...parent].some((word) => CURSOR.test(word));
  return isNamed && typeof value === 'string' && value !== '' && !isLinkText(value);
}

function signsIn(object: JsonObject, path: string, parent: readonly string[], depth: number): readonly EarlierSign[] {
  return Object.entries(object).flatMap(([key, value]) => {
    const words = toWords(key);
    const place = path + key;
    if (isJsonObject(value)) {
      const isOpen = depth < MAX_DEPTH && !isSkippedContainer(words);
      return isOpen ? signsIn(value, `${place}.`, words, depth + 1) : [];
    }
    if (!isEarlier(words)) return [];
    const flag = toBoolean(value);
    if (flag !== undefined) return flag ? [{ path: place, isCertain: true }] : [];
    return isCursor(value, words, parent) ? [{ path: place, isCertain: false }] : [];
  });
}

/**
 * Finds what the response to a request for the first page says of something before it: `has_previous: true`, or a cursor to
 * read back with, beside none to read on with.
 */
export function findEarlier(body: unknown, { links, tokens }: PageSigns): EarlierSign | undefined {
  if (!isJsonObject(body)) return undefined;
  const found = signsIn(body, '', [], 1);
  return found.find(({ isCertain }) => isCertain) ?? (links.length + tokens.length === 0 ? found[0] : undefined);
}
