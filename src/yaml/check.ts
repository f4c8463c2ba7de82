import * as v from 'valibot';
import { suggest } from '../platform/text.ts';
import { fileAndLine, loadDocuments, type Path, type YamlDocument } from './document.ts';
import type { Lookup } from './interpolate.ts';
import { foldRows, type Problem, ProblemList, type YamlSource } from './problem.ts';
import { quoted } from './text.ts';

type Issue = v.BaseIssue<unknown>;

const EXPECTED: Readonly<Record<string, string>> = {
  string: 'text',
  boolean: 'true or false',
  number: 'a number',
  array: 'a list',
  strict_object: 'a mapping',
  record: 'a mapping',
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

function pathOf(path: readonly v.IssuePathItem[]): Path {
  return path.map(({ key }) => (typeof key === 'number' ? key : String(key)));
}

/** Whether an issue is about the content of a value, and not only that it has another form. */
function isOfForm({ kind, type, path }: Issue): boolean {
  // To valibot, a list is an object whose keys are all missing.
  return path ? path[0].type !== 'object' || !Array.isArray(path[0].input) : kind !== 'schema' || type === 'union';
}

/** Of a value that may have several forms, only the mistakes in the form that it is written in count. */
function* findMistakes(issues: readonly Issue[]): Generator<Issue, void, void> {
  for (const issue of issues) {
    const inForm = issue.type === 'union' ? (issue.issues ?? []).filter(isOfForm) : [];
    if (inForm.length === 0) yield issue;
    for (const each of findMistakes(inForm))
      yield { ...each, path: issue.path && each.path ? [...issue.path, ...each.path] : (issue.path ?? each.path) };
  }
}

/** What would do, in the terms of YAML: `text or a number`. */
function describeExpected(issue: Issue): string {
  if (issue.type === 'union') return [...new Set(issue.issues?.map(describeExpected))].join(' or ');
  // The choices of a picklist are in it as `("a" | "b")`.
  return EXPECTED[issue.type] ?? issue.expected?.replace(/[()"]/g, '').replaceAll('|', 'or') ?? 'something else';
}

/** Reports a value in the terms of YAML: `"agents" must be a list, not "hi"`. */
function reportValue(issue: Issue, path: Path, document: YamlDocument): void {
  const value = document.get(path);
  const subject = describePath(path);
  const variables = document.variables(path).join(' and ');
  // What a variable holds may be a secret, so only the variable is named.
  const actual = variables === '' ? describeValue(value) : `the value of ${variables}`;
  if (issue.kind === 'schema') {
    const isUnquoted = issue.type === 'string' && (typeof value === 'number' || typeof value === 'boolean');
    const isQuoted = issue.type === 'boolean' && (actual === '"true"' || actual === '"false"');
    const hint = isUnquoted ? 'put quotes around it' : isQuoted ? 'remove the quotes' : undefined;
    document.report(path, `${subject} must be ${describeExpected(issue)}, not ${actual}`, hint);
  } else if (issue.type !== 'raw_transform') document.report(path, `${subject} ${issue.message}`);
  // The message of a parser quotes the value.
  else if (variables !== '') document.report(path, `${subject} is not valid: ${actual}`);
  else document.report(path, issue.message, issue.expected ?? undefined);
}

/** Reports each key that a mapping does not have. @returns the keys that were probably meant */
function reportUnknownKeys(input: object, known: readonly string[], path: Path, document: YamlDocument): string[] {
  const missing = known.filter((key) => !Object.hasOwn(input, key));
  const unknown = Object.keys(input).filter((key) => !known.includes(key));
  return unknown.flatMap((key) => {
    const meant = suggest(key, missing);
    const hint = meant === undefined ? `valid keys: ${known.join(', ')}` : `did you mean ${quoted(meant)}?`;
    document.reportKey([...path, key], `unknown key ${quoted(key)}`, hint);
    return meant ?? [];
  });
}

function reportIssues(issues: readonly Issue[], document: YamlDocument): void {
  const misspelled = new Map<unknown, readonly string[]>();
  for (const { expected, message, path = [] } of issues) {
    const input = path.at(-1)?.input;
    if (expected !== 'never' || typeof input !== 'object' || input === null || Array.isArray(input)) continue;
    misspelled.set(input, reportUnknownKeys(input, message.split(' '), pathOf(path).slice(0, -1), document));
  }
  for (const issue of issues) {
    const path = pathOf(issue.path ?? []);
    const mapping = path.slice(0, -1);
    const { origin, input, key } = issue.path?.at(-1) ?? {};
    if (origin !== 'key') reportValue(issue, path, document);
    else if (Array.isArray(input)) document.report(mapping, `${describePath(mapping)} must be a mapping, not a list`);
    else if (issue.expected !== 'never' && !misspelled.get(input)?.includes(String(key))) {
      const where = mapping.length > 0 ? ` in ${describePath(mapping)}` : '';
      document.report(mapping, `the key ${quoted(String(key))} is missing${where}`);
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
 * @returns the valid documents in order, and the problems by source, line, and column; see `foldRows`
 */
export function readYaml<S extends v.GenericSchema>(
  sources: readonly YamlSource[],
  { schema, lookup, other, review }: ReadYamlOptions<S>,
): { documents: ReadDocument<v.InferOutput<S>>[]; problems: Problem[] } {
  const documents: ReadDocument<v.InferOutput<S>>[] = [];
  const problems = sources.flatMap((source) => {
    const found = new ProblemList(source);
    for (const document of loadDocuments(found, (name) => lookup(name, source.row))) {
      if (document.get([other.key]) !== undefined) {
        document.reportKey([other.key], `unknown key ${quoted(other.key)}`, other.hint);
        continue;
      }
      const before = found.size;
      const { success, output, issues } = v.safeParse(schema, document.value, { abortPipeEarly: true });
      if (success) review(document, output);
      else reportIssues([...findMistakes(issues)], document);
      if (success && found.size === before) documents.push({ source: fileAndLine(document.place([])), value: output });
    }
    return found.sorted();
  });
  return { documents, problems: foldRows(problems) };
}
