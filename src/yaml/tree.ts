import type { Node } from 'yaml';
import type { Span } from './finding.ts';

export type Path = readonly (string | number)[];

/** Where a value stands, and what is known about how it was written. */
export interface Place {
  readonly span: Span;
  /** Something about this value has been reported; whatever else is wrong with it may follow from that. */
  readonly reported: boolean;
  /** The names of the variables put into the value. What they held is not repeated in messages. */
  readonly variables: readonly string[];
  /** A plain value that is one substitution and nothing else, so that it may stand for true or false. */
  readonly bare: boolean;
}

/** A list or mapping of a document: its values' places, and those of a mapping's keys. */
export interface Container {
  readonly values: Map<string | number, Place>;
  readonly keys: Map<string, Span>;
  /** Keys may be missing because of what has been reported. */
  incomplete: boolean;
}

/** The values of a document as plain data, and where each one stands. */
export interface Tree {
  readonly root: { readonly value: unknown; readonly place: Place };
  readonly containers: ReadonlyMap<object, Container>;
}

/** The stretch of the source that a node takes, without comments after it. */
export function spanOf(node: Node): Span {
  const [start, end] = node.range ?? [0, 0];
  return { offset: start, length: end - start };
}

/** A value's own entry in a list or mapping; inherited properties are none. */
export function entry(value: unknown, key: string | number): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return Reflect.get(value, key);
}

/** The keys and places of a list or mapping; undefined for any other value. */
export function containerOf(containers: Tree['containers'], value: unknown): Container | undefined {
  return typeof value === 'object' && value !== null ? containers.get(value) : undefined;
}

/**
 * Follows a path as far as it leads.
 * @returns the value, undefined where there is none; the place of the last step that exists; and whether a
 *   problem has been reported for something on the way.
 */
export function follow(tree: Tree, path: Path): { value: unknown; place: Place; reported: boolean; depth: number } {
  let { value, place } = tree.root;
  let reported = place.reported;
  let depth = 0;
  for (const key of path) {
    const next = containerOf(tree.containers, value)?.values.get(key);
    if (next === undefined) return { value: undefined, place, reported, depth };
    value = entry(value, key);
    place = next;
    reported ||= place.reported;
    depth += 1;
  }
  return { value, place, reported, depth };
}
