import { type Document, isMap, isNode, isScalar } from 'yaml';
import type { ProblemList, Range } from './problem.ts';

export function rangeOf(node: unknown): Range {
  const [start, end] = (isNode(node) && node.range) || [0, 0];
  return [start, end];
}

export type Path = readonly (string | number)[];

export interface Content {
  readonly document: Document.Parsed;
  readonly problems: ProblemList;
  /** The names of the variables in each text that was made from some. */
  readonly variables: Map<unknown, readonly string[]>;
}

/** A range of a source, to report problems with. */
export interface SourceRange {
  readonly problems: ProblemList;
  readonly range: Range;
}

/** `acme.yaml:3`. */
export function fileAndLine({ problems, range }: SourceRange): string {
  return `${problems.name}:${problems.positionAt(range[0]).line}`;
}

/** A document as plain data that knows where each of its values is. */
export class YamlDocument {
  readonly value: unknown;
  private readonly content: Content;

  constructor(value: unknown, content: Content) {
    this.value = value;
    this.content = content;
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
    return this.content.variables.get(this.get(path)) ?? [];
  }

  /** The place of a value: at the start of a list or a mapping, under any other value. Keeps no node in memory. */
  place(path: Path): SourceRange {
    const value = this.get(path);
    const [start, end] = rangeOf(this.nodeAt(path));
    const isHolder = value === undefined || (typeof value === 'object' && value !== null);
    return { problems: this.content.problems, range: [start, isHolder ? start : end] };
  }

  /** Reports a problem with a value. */
  report(path: Path, message: string, hint?: string): void {
    const { problems, range } = this.place(path);
    problems.add(range, message, hint);
  }

  reportKey(path: Path, message: string, hint?: string): void {
    const holder = this.nodeAt(path.slice(0, -1));
    const pair = isMap(holder) && holder.items.find(({ key }) => isScalar(key) && key.value === path.at(-1));
    this.content.problems.add(rangeOf(pair ? pair.key : holder), message, hint);
  }

  /** The node at a path, or the closest one around it: what an alias or a merge key stands for is elsewhere. */
  private nodeAt(path: Path): unknown {
    const { document } = this.content;
    for (let length = path.length; length > 0; length -= 1) {
      const node = document.getIn(path.slice(0, length), true);
      if (isNode(node)) return node;
    }
    return document.contents;
  }
}
