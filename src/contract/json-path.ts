import { isJsonObject, type JsonObject } from './json.ts';

/** Returns the address in an object that holds a link. */
export function addressIn(value: JsonObject): unknown {
  for (const key of ['href', 'url', 'uri', 'link']) if (key in value) return value[key];
  return undefined;
}

/** Returns a value, or the address in it if it is an object that holds a link. */
export function addressOf(value: unknown): unknown {
  return isJsonObject(value) ? addressIn(value) : value;
}

/** Returns the relation of an entry in a list of links; `next` also for a URI that ends so. */
export function relationOf(item: JsonObject): string | undefined {
  const relation = item.rel ?? item.relation ?? item.name ?? item.type;
  const text = Array.isArray(relation) ? relation.join(' ') : relation;
  if (typeof text !== 'string') return undefined;
  return /(^|[\s/#])next$|^next\s/i.test(text) ? 'next' : text;
}

/**
 * Follows a path of keys with dots between, each step with the longest key that fits, because keys may contain dots. In a
 * list of links, the key is the relation. The empty path is the value itself.
 */
export function descend(value: unknown, path: string): unknown {
  if (path === '') return value;
  if (Array.isArray(value)) return descendList(value, path);
  if (!isJsonObject(value)) return undefined;
  const fits = Object.keys(value).filter((key) => path === key || path.startsWith(`${key}.`));
  for (const key of fits.toSorted((left, right) => right.length - left.length)) {
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
