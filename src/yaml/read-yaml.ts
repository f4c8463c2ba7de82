import type * as v from 'valibot';
import { type BuildContext, buildValue } from './build-value.ts';
import { type DocumentValue, type Path, resolvePath } from './document-value.ts';
import type { Lookup } from './interpolate.ts';
import { parseDocuments } from './parse-documents.ts';
import { type Problem, ProblemList } from './problem.ts';
import { printable } from './quote.ts';
import type { DocumentSchema } from './schema.ts';
import {
  LIMITS,
  positionAt,
  type Range,
  type SourceText,
  toSourceText,
  UnreadableSource,
  type YamlSource,
} from './source-text.ts';
import { validate } from './validate.ts';

/** A document that fits its schema. */
export class YamlDocument<Value> {
  readonly value: Value;
  private readonly content: DocumentValue;
  private readonly source: SourceText;
  private readonly problems: ProblemList;

  constructor(value: Value, content: DocumentValue, source: SourceText, problems: ProblemList) {
    this.value = value;
    this.content = content;
    this.source = source;
    this.problems = problems;
  }

  /** The value at a path; undefined if there is none. */
  get(path: Path): unknown {
    return resolvePath(this.content, path).value;
  }

  /** Where a value is, as `acme.yaml:3:20`; safe to print. */
  location(path: Path): string {
    const { line, column } = this.position(path);
    return printable(`${this.source.name}:${line}:${column}`);
  }

  /** File and line of a value, as `acme.yaml:3`. */
  fileAndLine(path: Path): string {
    return `${this.source.name}:${this.position(path).line}`;
  }

  /** The variables in a text. What they hold may be a secret: messages do not repeat it. */
  variables(path: Path): readonly string[] {
    return resolvePath(this.content, path).place.variables;
  }

  /**
   * Reports a problem with a value.
   * @param part start and end of what is wrong within a value that is text
   */
  report(path: Path, message: string, hint?: string, part?: Range): void {
    const { value, place } = resolvePath(this.content, path);
    this.problems.add(part ? this.rangeOfPart(place.range, value, part) : place.range, message, hint);
  }

  private position(path: Path): { line: number; column: number } {
    return positionAt(this.source, resolvePath(this.content, path).place.range[0]);
  }

  /** Locates part of a text; returns the whole range unless the source has the text verbatim, possibly in quotes. */
  private rangeOfPart([start, end]: Range, value: unknown, part: Range): Range {
    const written = this.source.text.slice(start, end);
    if (written === value) return [start + part[0], start + part[1]];
    return written.slice(1, -1) === value ? [start + 1 + part[0], start + 1 + part[1]] : [start, end];
  }
}

export interface ReadYamlOptions<S extends DocumentSchema> {
  /** The schema of each document. */
  readonly schema: S;
  /** The value of a variable; undefined if it is not set. */
  readonly lookup: Lookup;
  /** Reports what a schema cannot express, such as duplicate names. Called for each document that fits the schema. */
  readonly review?: (document: YamlDocument<v.InferOutput<S>>) => void;
}

export interface ReadDocument<Value> {
  /** File and line where the content of the document starts: `acme.yaml:1`. */
  readonly source: string;
  readonly value: Value;
}

/**
 * Reads YAML documents from several sources and checks each one. Never throws, whatever the text is. A document is
 * checked in steps (syntax; keys, aliases, and variables; schema; review), and its problems are those of the first step
 * that finds any.
 * @returns the valid documents in order, and the problems by source, line, and column
 */
export function readYaml<S extends DocumentSchema>(
  sources: readonly YamlSource[],
  { schema, lookup, review }: ReadYamlOptions<S>,
): { documents: ReadDocument<v.InferOutput<S>>[]; problems: Problem[] } {
  const documents: ReadDocument<v.InferOutput<S>>[] = [];
  const problems: Problem[] = [];

  function readSource(source: SourceText, found: ProblemList): void {
    const budget: BuildContext['budget'] = { values: LIMITS.values };
    for (const contents of parseDocuments(source, found)) {
      const before = found.size;
      const content = buildValue(contents, { source, lookup, budget, problems: found });
      const value = found.size === before ? validate(schema, content, source, found) : undefined;
      if (value === undefined) continue;
      const document = new YamlDocument(value, content, source, found);
      review?.(document);
      if (found.size === before) documents.push({ source: document.fileAndLine([]), value });
    }
  }

  for (const each of sources) {
    const source = toSourceText(each);
    const found = new ProblemList(source);
    try {
      readSource(source, found);
    } catch (error) {
      if (!(error instanceof UnreadableSource)) throw error;
      found.add([error.offset, error.offset], error.message, error.hint);
    }
    problems.push(...found.sorted());
    if (problems.length >= LIMITS.problems) break;
  }
  return { documents, problems: problems.slice(0, LIMITS.problems) };
}
