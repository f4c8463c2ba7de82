import { isAlias, isMap, isNode, isScalar, isSeq, type Node } from 'yaml';
import { parseJsonText } from './json-text.ts';
import { parseDocuments } from './parse-documents.ts';
import { ProblemList, problemsError } from './problem.ts';
import { quoted } from './quote.ts';
import {
  LIMITS,
  type Limits,
  type Range,
  type SourceText,
  toSourceText,
  UnreadableSource,
  type YamlSource,
} from './source-text.ts';

/** A JSON or YAML document as plain data, without variables. */
export interface PlainDocument {
  readonly value: unknown;
  /** The error for a mistake at the value that these keys lead to. */
  error(path: readonly string[], message: string, hint?: string): Error;
}

/** Documents of other programs are larger and nested deeper than what people write for this one. */
const PLAIN_LIMITS: Limits = { ...LIMITS, tokensPerDocument: 1_000_000, documents: 2, depth: 100 };
const CONSEQUENCE = 'nothing was changed';

function rangeOf(node: unknown): Range {
  const [start = 0, end = 0] = (isNode(node) && node.range) || [];
  return [start, end];
}

/** Turns nodes into plain data. Values that aliases share are one object, so that aliases cost no memory. */
class PlainBuilder {
  private readonly problems: ProblemList;
  private readonly anchors = new Map<string, Node>();
  /** Anchored values that are complete. An alias to any other is inside of itself. */
  private readonly built = new Map<Node, unknown>();

  constructor(problems: ProblemList) {
    this.problems = problems;
  }

  build(node: unknown): unknown {
    if (!isNode(node)) return null;
    if (isAlias(node)) return this.resolveAlias(node.source, rangeOf(node));
    if (node.anchor !== undefined) this.anchors.set(node.anchor, node);
    const value = isMap(node)
      ? this.buildMapping(node.items)
      : isSeq(node)
        ? node.items.map((item) => this.build(item))
        : isScalar(node)
          ? node.value
          : null;
    this.built.set(node, value);
    return value;
  }

  private resolveAlias(name: string, range: Range): unknown {
    const target = this.anchors.get(name);
    if (target && this.built.has(target)) return this.built.get(target);
    const message = target
      ? `the alias ${quoted(`*${name}`)} is inside the value that it refers to`
      : `the anchor ${quoted(`&${name}`)} is not defined`;
    this.problems.add(range, message);
    return null;
  }

  /** A mapping becomes an object without a prototype, so that any key is one of its own. */
  private buildMapping(items: readonly { readonly key: unknown; readonly value: unknown }[]): Record<string, unknown> {
    const mapping: Record<string, unknown> = Object.create(null);
    const merged: unknown[] = [];
    for (const { key, value } of items) {
      const built = this.build(value);
      if (!isScalar(key)) this.problems.add(rangeOf(key), 'a key must be text');
      else if (key.value === '<<' && key.type === 'PLAIN') merged.push(...(Array.isArray(built) ? built : [built]));
      else if (Object.hasOwn(mapping, keyText(key)))
        this.problems.add(rangeOf(key), `duplicate key ${quoted(keyText(key))}`);
      else mapping[keyText(key)] = built;
    }
    for (const source of merged) addDefaults(mapping, source);
    return mapping;
  }
}

/** Adds the entries of a merged mapping (`<<`) that the mapping does not have. */
function addDefaults(mapping: Record<string, unknown>, source: unknown): void {
  if (typeof source !== 'object' || source === null) return;
  for (const [key, value] of Object.entries(source)) if (!Object.hasOwn(mapping, key)) mapping[key] = value;
}

/** The key as it is written: a response status is a number to YAML. */
function keyText(key: { readonly value: unknown; readonly source?: string }): string {
  return typeof key.value === 'string' ? key.value : (key.source ?? String(key.value));
}

/** Parses YAML. Reports mistakes, and returns undefined where there are any. */
function parseYaml(source: SourceText, problems: ProblemList): { node: Node; value: unknown } | undefined {
  try {
    const [node, second] = parseDocuments(source, problems, PLAIN_LIMITS);
    if (second) problems.add(rangeOf(second), 'a second document', 'give a file with one document');
    const value = new PlainBuilder(problems).build(node);
    return problems.size === 0 && node !== undefined ? { node, value } : undefined;
  } catch (error) {
    if (!(error instanceof UnreadableSource)) throw error;
    problems.add([error.offset, error.offset], error.message, error.hint);
    return undefined;
  }
}

/** The range of the value that keys lead to, or of its closest existing parent. */
function locate(root: Node, path: readonly string[]): Range {
  let node: unknown = root;
  let range = rangeOf(root);
  for (const step of path) {
    if (isMap(node)) {
      const item = node.items.find(({ key }) => isScalar(key) && keyText(key) === step);
      if (item === undefined) break;
      range = rangeOf(item.key);
      node = item.value;
    } else if (isSeq(node) && isNode(node.items[Number(step)])) {
      node = node.items[Number(step)];
      range = rangeOf(node);
    } else break;
  }
  // A whole mapping is pointed at where it starts.
  return isMap(node) || isSeq(node) ? [range[0], Math.min(range[1], range[0] + 1)] : range;
}

function plainDocument(source: SourceText, value: unknown, parsed: Node | undefined): PlainDocument {
  return {
    value,
    error(path, message, hint) {
      const problems = new ProblemList(source);
      const node = parsed ?? parseYaml(source, new ProblemList(source))?.node;
      problems.add(node ? locate(node, path) : [0, 0], message, hint);
      return problemsError(problems.sorted(), CONSEQUENCE);
    },
  };
}

/**
 * Reads a JSON or YAML document that another program wrote: no variables, any keys.
 * @throws InputError with file, line, and column for each mistake, and for a document beyond the limits
 */
export function readPlainDocument(given: YamlSource): PlainDocument {
  const source = toSourceText(given);
  const problems = new ProblemList(source);
  const start = source.text.trimStart().charAt(0);
  if (start === '<') {
    problems.add([0, 0], 'this is HTML or XML', 'give the JSON or YAML document itself, such as openapi.json');
    throw problemsError(problems.sorted(), CONSEQUENCE);
  }
  const json = start === '{' || start === '[' ? parseJsonText(source.text) : undefined;
  if (json && 'value' in json) return plainDocument(source, json.value, undefined);
  const parsed = parseYaml(source, problems);
  if (parsed) return plainDocument(source, parsed.value, parsed.node);
  // In JSON, its own parser knows best where the mistake is.
  const ofJson = new ProblemList(source);
  if (json) ofJson.add([json.at, json.at], json.message);
  throw problemsError((json ? ofJson : problems).sorted(), CONSEQUENCE);
}
