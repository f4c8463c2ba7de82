import * as v from 'valibot';
import type { Path, YamlDocument } from './document.ts';
import type { Lookup } from './interpolate.ts';
import { loadDocuments } from './load.ts';
import { type Problem, ProblemList, type YamlSource } from './problem.ts';
import { quoted } from './text.ts';

type Issue = v.BaseIssue<unknown>;

const EXPECTED: Readonly<Record<string, string>> = {
  string: 'text',
  boolean: 'true or false',
  number: 'a number',
  array: 'a list',
  strict_object: 'a mapping',
};

function describePath(path: Path): string {
  if (path.length === 0) return 'this document';
  const text = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('');
  return quoted(text.replace(/^\./, ''));
}

function describeValue(value: unknown): string {
  if (value === null) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  return typeof value === 'string' ? quoted(value) : String(value);
}

/** Reports a value that the schema refuses in the terms of YAML: `"agents" must be a list, not "hi"`. */
function reportValue(issue: Issue, path: Path, document: YamlDocument): void {
  const value = document.get(path);
  const subject = describePath(path);
  // What a variable holds may be a secret, so only the variable is named.
  const variables = document.variables(path).join(' and ');
  const actual = variables === '' ? describeValue(value) : `the value of ${variables}`;
  // Its message quotes the value.
  if (issue.type === 'raw_transform' && variables !== '') document.report(path, `${subject} is not valid: ${actual}`);
  else if (issue.kind !== 'schema') document.report(path, `${subject} ${issue.message}`);
  else {
    const isUnquoted = issue.type === 'string' && (typeof value === 'number' || typeof value === 'boolean');
    // The choices of a picklist are in it as `("a" | "b")`.
    const choices = issue.expected?.replace(/[()"]/g, '').replaceAll('|', 'or');
    const message = `${subject} must be ${EXPECTED[issue.type] ?? choices}, not ${actual}`;
    document.report(path, message, isUnquoted ? 'put quotes around it' : undefined);
  }
}

function pathOf({ path }: Issue): Path {
  return (path ?? []).map(({ key }) => (typeof key === 'number' ? key : String(key)));
}

function reportIssues(issues: readonly Issue[], document: YamlDocument): void {
  // Keys that are missing beside an unknown one are probably misspelled.
  const misspelled = new Set<unknown>();
  for (const { path, expected } of issues) if (expected === 'never') misspelled.add(path?.at(-1)?.input);
  for (const issue of issues) {
    const path = pathOf(issue);
    const mapping = path.slice(0, -1);
    const key = quoted(String(path.at(-1)));
    const { origin, input } = issue.path?.at(-1) ?? {};
    if (origin !== 'key') reportValue(issue, path, document);
    // To valibot, a list is an object whose keys are all missing.
    else if (Array.isArray(input)) document.report(mapping, `${describePath(mapping)} must be a mapping, not a list`);
    else if (issue.expected === 'never') document.reportKey(path, `unknown key ${key}`, issue.message);
    else if (!misspelled.has(input)) {
      const where = mapping.length > 0 ? ` in ${describePath(mapping)}` : '';
      document.report(mapping, `the key ${key} is missing${where}`);
    }
  }
}

interface ReadYamlOptions<S extends v.GenericSchema> {
  readonly schema: S;
  /** The value of a variable; undefined if it is not set. */
  readonly lookup: Lookup;
  /** The key of documents that are for another command, and a hint that names it. */
  readonly other: { readonly key: string; readonly hint: string };
  /** Reports what a schema cannot express, such as duplicate names. Called for each document that fits the schema. */
  readonly review: (document: YamlDocument, value: v.InferOutput<S>) => void;
}

interface ReadDocument<Value> {
  /** File and line where the content of the document starts: `acme.yaml:1`. */
  readonly source: string;
  readonly value: Value;
}

/**
 * Reads YAML documents from several sources and checks each one. Never throws, whatever the text is. A document is
 * checked in steps (syntax; aliases and variables; schema; review), and its problems are those of the first step
 * that finds any.
 * @returns the valid documents in order, and the problems by source, line, and column
 */
export function readYaml<S extends v.GenericSchema>(
  sources: readonly YamlSource[],
  { schema, lookup, other, review }: ReadYamlOptions<S>,
): { documents: ReadDocument<v.InferOutput<S>>[]; problems: Problem[] } {
  const documents: ReadDocument<v.InferOutput<S>>[] = [];
  const problems = sources.flatMap((source) => {
    const found = new ProblemList(source);
    for (const document of loadDocuments(found, lookup)) {
      if (document.get([other.key]) !== undefined) {
        document.reportKey([other.key], `unknown key ${quoted(other.key)}`, other.hint);
        continue;
      }
      const before = found.size;
      const { success, output, issues } = v.safeParse(schema, document.value, { abortPipeEarly: true });
      if (success) review(document, output);
      else reportIssues(issues, document);
      if (success && found.size === before) documents.push({ source: document.fileAndLine([]), value: output });
    }
    return found.sorted();
  });
  return { documents, problems };
}
