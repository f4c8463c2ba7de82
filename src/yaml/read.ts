import type * as v from 'valibot';
import { Schema } from 'yaml';
import { build } from './build.ts';
import { check } from './check.ts';
import { compose } from './compose.ts';
import { type Finding, Findings, type Span } from './finding.ts';
import type { Lookup } from './interpolate.ts';
import { LIMITS } from './limits.ts';
import { type Problem, problem } from './problem.ts';
import type { Shape } from './shape.ts';
import { shown } from './shown.ts';
import { SourceText, type YamlSource } from './source-text.ts';
import { split } from './split.ts';
import { follow, type Path, spanOf, type Tree } from './tree.ts';

export interface YamlDocument<Value> {
  /** File and line where the document's content begins: `acme.yaml:1`. */
  readonly source: string;
  /** The document's number among those of the run that hold something, from 0. */
  readonly index: number;
  readonly value: Value;
}

/** A document as a review sees it: whether or not it is valid, and before that is known. */
export interface Reviewed {
  /** The value at a path; undefined where there is none, or where a problem with it has been reported. */
  at(path: Path): unknown;
  /** The document's number among those of the run that hold something, from 0. */
  readonly index: number;
  /** Where a value stands, as `acme.yaml:3:20`; safe to show. */
  where(path: Path): string;
  /** File and line of a value, as `acme.yaml:3`. */
  source(path: Path): string;
  /** The variables put into a text; what they hold may be a secret, and is not repeated in messages. */
  variables(path: Path): readonly string[];
  /**
   * Adds a problem at a value.
   * @param part the stretch of the value that is meant, where the value is text
   */
  report(path: Path, message: string, hint?: string, part?: Span): void;
}

export interface Reading<S extends Shape> {
  /** What each document must be. */
  readonly schema: S;
  /** The value of a variable; undefined where it is not set. */
  readonly lookup: Lookup;
  /** Looks at what a schema cannot say: things that must differ, within a document or over all of them. */
  readonly review?: (document: Reviewed) => void;
}

/** The stretch of the source that a part of a text takes: known where the text stands there as it is, but for quotes. */
function spanOfPart(source: SourceText, whole: Span, value: unknown, part: Span): Span {
  const written = source.text.slice(whole.offset, whole.offset + whole.length);
  const shift = written === value ? 0 : written.slice(1, -1) === value ? 1 : undefined;
  return shift === undefined ? whole : { offset: whole.offset + shift + part.offset, length: part.length };
}

function reviewed(tree: Tree, source: SourceText, index: number, findings: Findings): Reviewed {
  const position = (path: Path) => source.position(follow(tree, path).place.span.offset);
  return {
    index,
    at: (path) => follow(tree, path).value,
    where: (path) => {
      const { line, column } = position(path);
      return shown(`${source.name}:${line}:${column}`);
    },
    source: (path) => `${source.name}:${position(path).line}`,
    variables: (path) => follow(tree, path).place.variables,
    report: (path, message, hint, part) => {
      const { value, place } = follow(tree, path);
      findings.add(part ? spanOfPart(source, place.span, value, part) : place.span, message, hint);
    },
  };
}

function problemsOf(source: SourceText, findings: readonly Finding[]): Problem[] {
  return findings.toSorted((one, other) => one.offset - other.offset).map((finding) => problem(source, finding));
}

/**
 * Reads YAML documents from several sources and checks each one, reporting everything that is wrong in all of them.
 * Never throws, whatever the text is.
 * @returns the valid documents in order, and the problems ordered by source, line and column. Over
 *   `LIMITS.problems`, reading stops and the last problem says so.
 */
export function readYaml<S extends Shape>(
  sources: readonly YamlSource[],
  { schema, lookup, review }: Reading<S>,
): { documents: YamlDocument<v.InferOutput<S>>[]; problems: Problem[] } {
  const yamlSchema = new Schema({ schema: 'core', resolveKnownTags: false });
  const budget = { values: LIMITS.valuesPerRun as number };
  const documents: YamlDocument<v.InferOutput<S>>[] = [];
  const problems: Problem[] = [];
  let index = -1;

  /** @returns whether the run may go on. */
  function readDocument(
    source: SourceText,
    contents: NonNullable<ReturnType<typeof compose>['contents']>,
    findings: Findings,
  ): boolean {
    const before = findings.all.length;
    const tree = build(contents, { source, findings, lookup, budget });
    if (budget.values < 0) return false;
    const value = check(schema, tree, source, findings);
    review?.(reviewed(tree, source, index, findings));
    if (value !== undefined && findings.all.length === before) {
      const { line } = source.position(spanOf(contents).offset);
      documents.push({ source: `${source.name}:${line}`, index, value });
    }
    return true;
  }

  /** @returns whether the run may go on. */
  function readSource(source: SourceText, findings: Findings): boolean {
    let tokens = 0;
    let empty = true;
    for (const chunk of split(source.text)) {
      empty = false;
      index += 1;
      if (index >= LIMITS.documents) {
        const limit = LIMITS.documents.toLocaleString('en');
        findings.add({ offset: chunk.start, length: 0 }, `this run holds more than ${limit} documents`);
        return false;
      }
      const composed = compose(source.text, chunk, yamlSchema, LIMITS.tokens - tokens, findings);
      tokens += composed.tokens;
      if (composed.contents && !readDocument(source, composed.contents, findings)) return false;
      if (tokens > LIMITS.tokens || findings.all.length + problems.length > LIMITS.problems) break;
    }
    if (empty) {
      findings.add({ offset: 0, length: 0 }, 'this source holds no document', 'write one, or leave the file out');
    }
    return findings.all.length + problems.length <= LIMITS.problems;
  }

  for (const { name, text } of sources) {
    const findings = new Findings();
    const tooLong = text.length > LIMITS.sourceLength;
    const source = new SourceText({ name, text: tooLong ? text.slice(0, LIMITS.sourceLength) : text });
    if (tooLong) {
      const limit = LIMITS.sourceLength.toLocaleString('en');
      findings.add(
        { offset: 0, length: 0 },
        `this source is longer than ${limit} characters`,
        'split it into several files',
      );
    }
    const goOn = tooLong || readSource(source, findings);
    problems.push(...problemsOf(source, findings.all));
    if (!goOn) break;
  }
  const last = problems[LIMITS.problems];
  if (last === undefined) return { documents, problems };
  const message = `there are more than ${LIMITS.problems.toLocaleString('en')} problems; from here on they are not shown`;
  const { hint: _, ...place } = last;
  return { documents, problems: [...problems.slice(0, LIMITS.problems), { ...place, message }] };
}
