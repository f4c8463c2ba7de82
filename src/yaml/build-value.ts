import { type Alias, isAlias, isMap, isNode, isScalar, isSeq, type Node, type Scalar, type YAMLMap } from 'yaml';
import type { DocumentValue, ValuePlace } from './document-value.ts';
import { interpolate, type Lookup } from './interpolate.ts';
import type { ProblemList } from './problem.ts';
import { quoted } from './quote.ts';
import { LIMITS, type Range, type SourceText, UnreadableSource } from './source-text.ts';

/** What building the values of a document needs. */
export interface BuildContext {
  readonly source: SourceText;
  /** The value of a variable; undefined if it is not set. */
  readonly lookup: Lookup;
  /** How many values the source may still hold; reduced here. */
  readonly budget: { values: number };
  readonly problems: ProblemList;
}

interface Built {
  readonly value: unknown;
  readonly place: ValuePlace;
}

/** A value with an anchor, which its aliases share: building it again for each alias could take forever. */
interface SharedValue extends Built {
  /** The number of values that it stands for, with itself. */
  readonly count: number;
  /** The levels of collections inside it. */
  readonly height: number;
}

const TOO_DEEP = `nested deeper than ${LIMITS.depth} levels`;
const MERGE_KEY = '<<';

/** @param whenEmpty where to point at a node that takes no room in the source */
function rangeOf(node: unknown, whenEmpty: Range): Range {
  const [start = 0, end = 0] = (isNode(node) && node.range) || [];
  return end > start ? [start, end] : whenEmpty;
}

function startOf(node: unknown, fallback: number): Range {
  const start = (isNode(node) && node.range?.[0]) || fallback;
  return [start, start];
}

function indexesOf(text: string, part: string): number[] {
  const indexes: number[] = [];
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) indexes.push(at);
  return indexes;
}

/**
 * Maps the index of each `${` in a scalar's value to its offset in the source. Quotes, escapes, and folded lines shift
 * them but keep their order; if their number differs, the map is empty.
 */
function locateVariables(node: Scalar, value: string, { text }: SourceText): ReadonlyMap<number, number> {
  const [start, end] = rangeOf(node, [0, 0]);
  // A comment after the "|" of a block may also contain "${".
  const from = node.type?.startsWith('BLOCK') ? text.indexOf('\n', start) : start;
  const written = indexesOf(text.slice(from, end), '${');
  const parsed = indexesOf(value, '${');
  return new Map(written.length === parsed.length ? parsed.map((at, nth) => [at, from + (written[nth] ?? 0)]) : []);
}

class ValueBuilder {
  readonly places = new Map<object, Map<string | number, ValuePlace>>();
  private readonly context: BuildContext;
  private readonly anchors = new Map<string, Node>();
  /** The values with an anchor. One that is still being built is missing: an alias to it would be inside of itself. */
  private readonly shared = new Map<Node, SharedValue>();
  /** The depth of the deepest value since the start of the anchored value that is being built. */
  private deepest = 0;

  constructor(context: BuildContext) {
    this.context = context;
  }

  /** @param keyRange where to point at a value that takes no room in the source */
  build(node: unknown, keyRange: Range, depth: number): Built {
    const { problems } = this.context;
    const place: ValuePlace = { range: rangeOf(node, keyRange), keyRange, variables: [], isBareVariable: false };
    this.spend(1, place);
    this.deepest = Math.max(this.deepest, depth);
    if (!isNode(node)) return { value: null, place };
    if (depth > LIMITS.depth) problems.add(place.range, TOO_DEEP);
    else if (isAlias(node)) return this.resolveAlias(node, place, depth);
    else if (node.tag !== undefined) {
      problems.add(place.range, 'tags are not supported', 'leave out the tag; put quotes around a value that is text');
    } else return this.buildAnchored(node, place, depth);
    return { value: null, place };
  }

  private spend(values: number, place: ValuePlace): void {
    const { budget } = this.context;
    budget.values -= values;
    if (budget.values >= 0) return;
    const message = `more than ${LIMITS.values.toLocaleString('en')} values in one source, counting what aliases stand for`;
    throw new UnreadableSource(place.range[0], message, 'use fewer aliases, or split the source into several files');
  }

  private buildAnchored(node: Node, place: ValuePlace, depth: number): Built {
    if (isAlias(node) || node.anchor === undefined) return this.buildContent(node, place, depth);
    this.anchors.set(node.anchor, node);
    const { budget } = this.context;
    const before = { values: budget.values, deepest: this.deepest };
    this.deepest = depth;
    const built = this.buildContent(node, place, depth);
    this.shared.set(node, { ...built, count: before.values - budget.values + 1, height: this.deepest - depth });
    this.deepest = Math.max(before.deepest, this.deepest);
    return built;
  }

  private buildContent(node: Node, place: ValuePlace, depth: number): Built {
    if (isScalar(node)) return this.buildScalar(node, place);
    const value = isMap(node) ? this.buildMapping(node, place.range, depth) : this.buildList(node, place.range, depth);
    return { value, place };
  }

  private resolveAlias({ source: name }: Alias, place: ValuePlace, depth: number): Built {
    const { problems } = this.context;
    const target = this.anchors.get(name);
    const shared = target && this.shared.get(target);
    if (shared) {
      this.spend(shared.count, place);
      this.deepest = Math.max(this.deepest, depth + shared.height);
      if (depth + shared.height > LIMITS.depth) problems.add(place.range, TOO_DEEP);
      return { value: shared.value, place: { ...shared.place, range: place.range, keyRange: place.keyRange } };
    }
    if (target) problems.add(place.range, `the alias ${quoted(`*${name}`)} is inside the value that it refers to`);
    else {
      const hint = 'an alias needs an anchor before it in the same document; text that starts with "*" needs quotes';
      problems.add(place.range, `the anchor ${quoted(`&${name}`)} is not defined`, hint);
    }
    return { value: null, place };
  }

  private buildScalar(node: Scalar, place: ValuePlace): Built {
    if (typeof node.value !== 'string') return { value: node.value, place };
    const { source, lookup, problems } = this.context;
    const { text, faults, variables, isSingleVariable } = interpolate(node.value, lookup);
    const offsets = faults.length > 0 ? locateVariables(node, node.value, source) : undefined;
    for (const { at, length, message, hint } of faults) {
      const start = offsets?.get(at);
      problems.add(start === undefined ? rangeOf(node, place.range) : [start, start + length], message, hint);
    }
    if (!text.isWellFormed()) problems.add(place.range, 'this text contains half a character (a lone surrogate)');
    return { value: text, place: { ...place, variables, isBareVariable: isSingleVariable && node.type === 'PLAIN' } };
  }

  private buildList(node: Node, range: Range, depth: number): unknown[] {
    const items = isSeq(node) ? node.items : [];
    const built = items.map((item) => this.build(item, startOf(item, range[0]), depth + 1));
    const list = built.map(({ value }) => value);
    this.places.set(list, new Map(built.map(({ place }, index) => [index, place])));
    return list;
  }

  /** A mapping becomes an object without a prototype, so that any key is one of its own. */
  private buildMapping(node: YAMLMap, range: Range, depth: number): Record<string, unknown> {
    const mapping: Record<string, unknown> = Object.create(null);
    const places = new Map<string | number, ValuePlace>();
    this.places.set(mapping, places);
    const keys = new Map<string, Range>();
    let defaults: Built | undefined;
    for (const { key, value } of node.items) {
      const keyRange = rangeOf(key, startOf(key, range[0]));
      const built = this.build(value, keyRange, depth + 1);
      const name = this.readKey(key, keyRange, keys);
      if (name === MERGE_KEY && isScalar(key) && key.type === 'PLAIN') defaults = built;
      else if (name !== undefined) {
        mapping[name] = built.value;
        places.set(name, built.place);
      }
    }
    if (defaults) this.merge(mapping, places, defaults);
    return mapping;
  }

  /** Returns the text of a key. Reports an invalid or duplicate key, and returns undefined. */
  private readKey(key: unknown, range: Range, keys: Map<string, Range>): string | undefined {
    const { problems, source } = this.context;
    if (!isScalar(key) || typeof key.value !== 'string') {
      const hint = 'put quotes around a key that is a number, true, false, or null, or starts with [, {, *, or &';
      problems.add(range, 'a key must be text', hint);
      return undefined;
    }
    const first = keys.get(key.value);
    keys.set(key.value, first ?? range);
    if (first === undefined && !key.value.includes('${')) return key.value;
    if (first === undefined) problems.add(range, 'variables can be used in values, not in keys');
    else
      problems.add(range, `duplicate key ${quoted(key.value)}, first on line ${source.lines.linePos(first[0]).line}`);
    return undefined;
  }

  /** Adds the entries of merged mappings (`<<`). The mapping's own keys win, then those of earlier merged mappings. */
  private merge(
    mapping: Record<string, unknown>,
    places: Map<string | number, ValuePlace>,
    { value, place }: Built,
  ): void {
    for (const source of Array.isArray(value) ? value : [value]) {
      const isMapping = typeof source === 'object' && source !== null && !Array.isArray(source);
      if (!isMapping) this.context.problems.add(place.range, '"<<" takes a mapping, or a list of mappings');
      for (const [name, from] of (isMapping && this.places.get(source)) || []) {
        if (places.has(name)) continue;
        places.set(name, from);
        mapping[name] = Reflect.get(source, name);
      }
    }
  }
}

/**
 * Turns the nodes of a document into plain data: resolves aliases and merge keys, and replaces variables. Reports what
 * cannot be turned into data.
 * @throws UnreadableSource when the budget is used up
 */
export function buildValue(contents: Node, context: BuildContext): DocumentValue {
  const builder = new ValueBuilder(context);
  const { value: root, place: rootPlace } = builder.build(contents, rangeOf(contents, [0, 0]), 0);
  return { root, rootPlace, places: builder.places };
}
