import { type Document, isAlias, isMap, isNode, isScalar, isSeq } from 'yaml';
import { type ProblemList, positionAt, type Range, type SourceText } from './problem.ts';
import { printable } from './quote.ts';

/** @param whenEmpty where to point at a node that takes no room in the source */
export function rangeOf(node: unknown, whenEmpty?: Range): Range {
  const [start, end] = (isNode(node) && node.range) || [0, 0];
  return end > start ? [start, end] : (whenEmpty ?? [start, start]);
}

export type Path = readonly (string | number)[];

/** The variables that a text was made from. What they hold may be a secret: messages do not repeat it. */
interface Variables {
  readonly names: readonly string[];
  /** Whether the text is one variable without quotes, which may also stand for true or false. */
  readonly isBare: boolean;
}

export interface Content {
  readonly document: Document.Parsed;
  readonly source: SourceText;
  readonly problems: ProblemList;
  readonly variables: Map<unknown, Variables>;
}

interface Entry {
  readonly key?: unknown;
  readonly value: unknown;
}

/** Finds what is under a key of a mapping, also of one that it merges (`<<`), or at an index of a list. */
function findEntry(document: Document.Parsed, holder: unknown, step: string | number): Entry | undefined {
  const node = isAlias(holder) ? holder.resolve(document) : holder;
  if (isSeq(node)) return typeof step === 'number' && step in node.items ? { value: node.items[step] } : undefined;
  if (!isMap(node)) return undefined;
  const own = node.items.find(({ key }) => isScalar(key) && key.value === String(step));
  if (own) return own;
  const merged = node.items.filter(({ key }) => isScalar(key) && key.value === '<<').map(({ value }) => value);
  const sources = merged.flatMap((value) => (isSeq(value) ? value.items : [value]));
  return sources.map((source) => findEntry(document, source, step)).find((entry) => entry !== undefined);
}

/** A document as plain data that knows where each of its values is. */
export class YamlDocument<Value = unknown> {
  readonly value: Value;
  private readonly content: Content;

  constructor(value: Value, content: Content) {
    this.value = value;
    this.content = content;
  }

  /** The same document after a check of its value. */
  checkedAs<Checked>(value: Checked): YamlDocument<Checked> {
    return new YamlDocument(value, this.content);
  }

  /** The value at a path; undefined if there is none. */
  get(path: Path): unknown {
    return path.reduce<unknown>(
      (value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined),
      this.value,
    );
  }

  /** The names of the variables in a text. What they hold may be a secret: messages do not repeat it. */
  variables(path: Path): readonly string[] {
    return this.inserted(path)?.names ?? [];
  }

  /** Whether a value is one variable without quotes, which may also stand for true or false. */
  isBareVariable(path: Path): boolean {
    return this.inserted(path)?.isBare ?? false;
  }

  /** The value as it is written in the source. */
  written(path: Path): string {
    return this.content.source.text.slice(...this.find(path).range);
  }

  /** Where a value is, as `acme.yaml:3:20`; safe to print. */
  location(path: Path): string {
    const { line, column } = positionAt(this.content.source, this.find(path).range[0]);
    return printable(`${this.content.source.name}:${line}:${column}`);
  }

  /** File and line of a value, as `acme.yaml:3`. */
  fileAndLine(path: Path): string {
    return `${this.content.source.name}:${positionAt(this.content.source, this.find(path).range[0]).line}`;
  }

  /** Reports a problem with a value: at the start of a list or a mapping, under any other value. */
  report(path: Path, message: string, hint?: string): void {
    const value = this.get(path);
    const [start, end] = this.find(path).range;
    const isHolder = value === undefined || (typeof value === 'object' && value !== null);
    this.content.problems.add([start, isHolder ? start : end], message, hint);
  }

  /** Reports a problem with a key of a mapping. */
  reportKey(path: Path, message: string, hint?: string): void {
    const { entry, range } = this.find(path);
    this.content.problems.add(rangeOf(entry?.key, range), message, hint);
  }

  /** The entry at a path, and its range: of its closest parent if there is none, of its key if it takes no room. */
  private find(path: Path): { entry: Entry | undefined; range: Range } {
    const { document } = this.content;
    let entry: Entry = { value: document.contents };
    let range = rangeOf(document.contents);
    for (const step of path) {
      const next = findEntry(document, entry.value, step);
      if (next === undefined) return { entry: undefined, range };
      entry = next;
      range = rangeOf(next.value, isNode(next.key) ? rangeOf(next.key) : undefined);
    }
    return { entry, range };
  }

  private inserted(path: Path): Variables | undefined {
    const node = this.find(path).entry?.value;
    return this.content.variables.get(isAlias(node) ? node.resolve(this.content.document) : node);
  }
}
