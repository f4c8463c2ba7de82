import {
  type Alias,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Node,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { resolveAliases } from './aliases.ts';
import type { Findings, Span } from './finding.ts';
import type { Lookup } from './interpolate.ts';
import { readKey } from './key.ts';
import { LIMITS } from './limits.ts';
import { readText } from './read-text.ts';
import { quoted } from './shown.ts';
import type { SourceText } from './source-text.ts';
import { type Container, containerOf, entry, type Place, spanOf, type Tree } from './tree.ts';

export interface Surroundings {
  readonly source: SourceText;
  readonly findings: Findings;
  readonly lookup: Lookup;
  /** How many values the run may still hold; counted down here. */
  readonly budget: { values: number };
}

interface Built {
  readonly value: unknown;
  readonly place: Place;
}

interface Mapping {
  readonly target: Record<string, unknown>;
  readonly container: Container;
}

const MERGE = '<<';

function known(span: Span): Place {
  return { span, reported: false, variables: [], bare: false };
}

function unknown(span: Span): Built {
  return { value: undefined, place: { ...known(span), reported: true } };
}

function isMerge(key: unknown): boolean {
  return isScalar(key) && key.value === MERGE && key.type === 'PLAIN';
}

function newContainer(): Container {
  return { values: new Map(), keys: new Map(), incomplete: false };
}

/**
 * Turns a document's nodes into plain data with places: aliases and merge keys resolved, variables put in.
 * Mappings become objects without a prototype. What cannot be read becomes a finding and an undefined value.
 */
export function build(contents: Node, { source, findings, lookup, budget }: Surroundings): Tree {
  const targets = resolveAliases(contents, findings);
  const containers = new Map<object, Container>();
  const open = new Set<Node>();
  let values = 0;

  /** Counts one value. @returns which limit that passes, if any. */
  function passedLimit(): string | undefined {
    values += 1;
    budget.values -= 1;
    if (values > LIMITS.values) return `this document holds more than ${LIMITS.values.toLocaleString('en')} values`;
    if (budget.values < 0) return `this run holds more than ${LIMITS.valuesPerRun.toLocaleString('en')} values`;
    return undefined;
  }

  function scalar(node: Scalar, span: Span): Built {
    if (typeof node.value !== 'string') return { value: node.value, place: known(span) };
    const { text, faulty, variables, bare } = readText(node, node.value, source.text, lookup, findings);
    if (faulty) return unknown(span);
    return { value: text, place: { span, reported: false, variables, bare } };
  }

  function alias(node: Alias, span: Span, depth: number): Built {
    const target = targets.get(node);
    if (target === undefined) return unknown(span);
    if (open.has(target)) {
      findings.add(span, 'an alias cannot stand within the value that it stands for');
      return unknown(span);
    }
    const { value, place } = convert(target, depth, span);
    return { value, place: { ...place, span } };
  }

  function list(node: YAMLSeq, span: Span, depth: number): Built {
    const items: unknown[] = [];
    const container = newContainer();
    containers.set(items, container);
    for (const [index, item] of node.items.entries()) {
      const { value, place } = convert(item, depth + 1, isNode(item) ? spanOf(item) : span);
      items.push(value);
      container.values.set(index, place);
    }
    return { value: items, place: known(span) };
  }

  function mapping(node: YAMLMap, span: Span, depth: number): Built {
    const into: Mapping = { target: Object.create(null), container: newContainer() };
    containers.set(into.target, into.container);
    let merged: Built | undefined;
    for (const { key, value } of node.items) {
      const keySpan = isNode(key) ? spanOf(key) : span;
      const name = readKey(key, keySpan, findings);
      const built = convert(value, depth + 1, keySpan);
      if (name === undefined) into.container.incomplete = true;
      else if (!addKey(into.container, name, keySpan)) continue;
      else if (isMerge(key)) merged = built;
      else {
        into.target[name] = built.value;
        into.container.values.set(name, built.place);
      }
    }
    if (merged) merge(into, merged);
    return { value: into.target, place: known(span) };
  }

  /** @returns false, and reports it, where the mapping has the key already. */
  function addKey({ keys }: Container, name: string, span: Span): boolean {
    const first = keys.get(name);
    if (first === undefined) {
      keys.set(name, span);
      return true;
    }
    const { line } = source.position(first.offset);
    findings.add(span, `the key ${quoted(name)} is given twice in this mapping, first on line ${line}`);
    return false;
  }

  function merge(into: Mapping, { value, place }: Built): void {
    into.container.keys.delete(MERGE);
    const sources: readonly unknown[] = Array.isArray(value) ? value : [value];
    for (const defaults of sources) {
      const origin = Array.isArray(defaults) ? undefined : containerOf(containers, defaults);
      if (origin) mergeOne(into, defaults, origin);
      else {
        into.container.incomplete = true;
        const message = 'after "<<" comes a mapping, or a list of mappings';
        if (!place.reported && defaults !== undefined) findings.add(place.span, message);
      }
    }
  }

  /** What is there already stays: the mapping's own keys, and those of earlier defaults. */
  function mergeOne({ target, container }: Mapping, defaults: unknown, origin: Container): void {
    container.incomplete ||= origin.incomplete;
    for (const [name, place] of origin.values) {
      if (typeof name === 'number' || container.keys.has(name)) continue;
      const span = origin.keys.get(name) ?? place.span;
      container.keys.set(name, span);
      container.values.set(name, place);
      target[name] = entry(defaults, name);
    }
  }

  function readNode(node: Node, span: Span, depth: number): Built {
    if (isAlias(node)) return alias(node, span, depth);
    // A tag has been reported where it stands; what it makes of the value does not matter.
    if (node.tag !== undefined) return unknown(span);
    if (isScalar(node)) return scalar(node, span);
    open.add(node);
    const built = isMap(node) ? mapping(node, span, depth) : isSeq(node) ? list(node, span, depth) : unknown(span);
    open.delete(node);
    return built;
  }

  /** @param fallback where a value is to be pointed at that takes no room in the source */
  function convert(node: unknown, depth: number, fallback: Span): Built {
    if (!isNode(node)) return { value: null, place: known(fallback) };
    const own = spanOf(node);
    const span = own.length > 0 ? own : fallback;
    const passed = passedLimit();
    if (passed) {
      // At the document's beginning, so that it is one finding however many values there are.
      findings.add({ offset: spanOf(contents).offset, length: 0 }, `${passed}, counting what aliases stand for`);
      return unknown(span);
    }
    if (depth > LIMITS.depth) {
      findings.add(span, `nested deeper than ${LIMITS.depth} levels`);
      return unknown(span);
    }
    return readNode(node, span, depth);
  }

  return { root: convert(contents, 0, spanOf(contents)), containers };
}
