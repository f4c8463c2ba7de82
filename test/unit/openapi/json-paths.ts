/** The keys and indexes that lead to a value in a JSON document. */
export type Path = readonly (string | number)[];

/** Returns the paths of all values in a JSON document, the document's own (empty) path first. */
export function pathsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return [path, ...entries.flatMap(([key, inner]) => pathsIn(inner, [...path, key]))];
}

/** Returns a copy of a JSON document in which the value at a path is replaced. */
export function replaceAt(value: unknown, [key, ...rest]: Path, by: unknown): unknown {
  if (key === undefined) return by;
  if (Array.isArray(value)) return value.map((inner, index) => (index === key ? replaceAt(inner, rest, by) : inner));
  if (typeof value !== 'object' || value === null) return value;
  return { ...value, [key]: replaceAt(Reflect.get(value, key), rest, by) };
}
