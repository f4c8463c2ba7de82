import { isJsonObject, type JsonObject } from './json.ts';

/** Returns a value, or the URL in it if it is a link object; undefined for an object without one. */
export function urlOf(value: unknown): unknown {
  return isJsonObject(value) ? (value.href ?? value.url ?? value.uri) : value;
}

/** Returns the link to the next page in a list of links: `[{ rel: 'next', href }]`. */
export function nextLinkIn(list: readonly unknown[]): JsonObject | undefined {
  return list.filter(isJsonObject).find(({ rel, relation }) => /\bnext\b/i.test(String(rel ?? relation)));
}

/**
 * Returns the value at a path of keys separated by dots; the empty path is the value itself. Keys may contain dots, so
 * that each step takes the longest that matches. In a list of links, `next` is the relation.
 */
export function descend(value: unknown, path: string): unknown {
  if (path === '') return value;
  if (Array.isArray(value)) return path === 'next' ? nextLinkIn(value) : undefined;
  if (!isJsonObject(value)) return undefined;
  const matching = Object.keys(value).filter((key) => path === key || path.startsWith(`${key}.`));
  for (const key of matching.toSorted((left, right) => right.length - left.length)) {
    const found = descend(value[key], path.slice(key.length + 1));
    if (found !== undefined) return found;
  }
  return undefined;
}
