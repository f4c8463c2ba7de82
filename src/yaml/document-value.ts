import type { Range } from './source-text.ts';

export type Path = readonly (string | number)[];

/** Where a value is in its source, and how it was written. */
export interface ValuePlace {
  readonly range: Range;
  /** The range of its key, where it is a value of a mapping. */
  readonly keyRange: Range;
  /** The names of the variables in the value. What they hold may be a secret: messages do not repeat it. */
  readonly variables: readonly string[];
  /** Whether the value is one variable without quotes, which may also stand for true or false. */
  readonly isBareVariable: boolean;
}

/** A document as plain data, and where each of its values is. */
export interface DocumentValue {
  readonly root: unknown;
  readonly rootPlace: ValuePlace;
  /** The places of the values of each list and mapping. */
  readonly places: ReadonlyMap<object, ReadonlyMap<string | number, ValuePlace>>;
}

/** Returns the value at a path and its place; if there is none, the place of its closest existing parent. */
export function resolvePath(
  document: DocumentValue,
  path: Path,
): { value: unknown; place: ValuePlace; exists: boolean } {
  let { root: value, rootPlace: place } = document;
  for (const key of path) {
    const next = typeof value === 'object' && value !== null ? document.places.get(value)?.get(key) : undefined;
    if (typeof value !== 'object' || value === null || next === undefined) {
      return { value: undefined, place, exists: false };
    }
    value = Reflect.get(value, key);
    place = next;
  }
  return { value, place, exists: true };
}
