import { isJsonObject, type JsonObject } from './json.ts';

/** Returns the URL in a link object. */
export function urlIn(value: JsonObject): unknown {
  for (const key of ['href', 'url', 'uri', 'link']) if (key in value) return value[key];
  return undefined;
}

/** Returns a value, or the URL in it if it is a link object. */
export function urlOf(value: unknown): unknown {
  return isJsonObject(value) ? urlIn(value) : value;
}

/** Returns the relation of a link object; `next` also for a URI that ends with it. */
export function relationOf(item: JsonObject): string | undefined {
  const relation = item.rel ?? item.relation ?? item.name ?? item.type;
  const text = Array.isArray(relation) ? relation.join(' ') : relation;
  if (typeof text !== 'string') return undefined;
  return /(^|[\s/#])next$|^next\s/i.test(text) ? 'next' : text;
}

/**
 * Returns the value at a path of keys separated by dots. Each step takes the longest matching key, because keys may contain
 * dots. In a list of links, the key is the relation. The empty path is the value itself.
 */
export function descend(value: unknown, path: string): unknown {
  if (path === '') return value;
  if (Array.isArray(value)) return descendList(value, path);
  if (!isJsonObject(value)) return undefined;
  const matching = Object.keys(value).filter((key) => path === key || path.startsWith(`${key}.`));
  for (const key of matching.toSorted((left, right) => right.length - left.length)) {
    const found = descend(value[key], path.slice(key.length + 1));
    if (found !== undefined) return found;
  }
  return undefined;
}

function descendList(list: readonly unknown[], path: string): unknown {
  const [relation = '', ...rest] = path.split('.');
  const item = list.filter(isJsonObject).find((candidate) => relationOf(candidate) === relation);
  return item && descend(item, rest.join('.'));
}
