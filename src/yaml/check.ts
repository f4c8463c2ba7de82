import * as v from 'valibot';
import { suggest } from '../platform/suggest.ts';
import type { Path, YamlDocument } from './document.ts';
import type { Lookup } from './interpolate.ts';
import { loadDocuments } from './load.ts';
import { MAX_PROBLEMS, type Problem, ProblemList, toSourceText, type YamlSource } from './problem.ts';
import { quoted } from './quote.ts';
import type { DocumentSchema } from './schema.ts';

type Issue = v.BaseIssue<unknown>;

const EXPECTED: Readonly<Record<string, string>> = {
  string: 'text',
  boolean: 'true or false',
  number: 'a number',
  array: 'a list',
  strict_object: 'a mapping',
};

const HINTS: Readonly<Record<string, string>> = {
  'string for boolean': 'write true or false without quotes',
  'number for string': 'put quotes around it',
  'boolean for string': 'put quotes around it',
};

/** A path as people write it, in quotes: `"agents[1].name"`. */
function describePath(path: Path): string {
  if (path.length === 0) return 'this document';
  const text = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('');
  return quoted(text.replace(/^\./, ''));
}

/** The value for a message. What a variable holds may be a secret, so only the variable is named. */
function describeValue(value: unknown, variables: readonly string[]): string {
  if (variables.length > 0) return `the value of ${variables.join(' and ')}`;
  if (value === null) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  return typeof value === 'string' ? quoted(value) : String(value);
}

/** The values of a picklist; an issue names them only as `("a" | "b")`. */
function choicesIn(expected: string | null): string[] {
  return [...(expected ?? '').matchAll(/"([^"]*)"/g)].map(([, choice]) => choice ?? '');
}

/** Reports a value that the schema refuses in the terms of YAML: `"agents" must be a list, not "hi"`. */
function reportValue(issue: Issue, path: Path, document: YamlDocument): void {
  const value = document.get(path);
  const variables = document.variables(path);
  const subject = describePath(path);
  const actual = describeValue(value, variables);
  // Its message quotes the value.
  if (issue.type === 'raw_check' && variables.length > 0) document.report(path, `${subject} is not valid: ${actual}`);
  else if (issue.kind === 'validation' || issue.type === 'never') document.report(path, `${subject} ${issue.message}`);
  else if (issue.type === 'picklist') {
    const choices = choicesIn(issue.expected);
    const meant = typeof value === 'string' && variables.length === 0 ? suggest(value, choices) : undefined;
    const hint = meant && `did you mean ${quoted(meant)}?`;
    document.report(path, `${subject} must be ${choices.join(' or ')}, not ${actual}`, hint);
  } else {
    const hint = HINTS[`${typeof value} for ${issue.type}`];
    document.report(path, `${subject} must be ${EXPECTED[issue.type] ?? issue.expected}, not ${actual}`, hint);
  }
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Reports the keys of every mapping that the schema does not have; valibot itself stops at the first of a mapping.
 * @returns the missing keys that they probably stand for, as paths in quotes
 */
function reportUnknownKeys(whole: DocumentSchema, document: YamlDocument): ReadonlySet<string> {
  const meant = new Set<string>();

  function reportKeys(mapping: Readonly<Record<string, unknown>>, known: readonly string[], path: Path): void {
    const missing = known.filter((key) => !Object.hasOwn(mapping, key));
    for (const key of Object.keys(mapping)) {
      if (known.includes(key)) continue;
      const suggestion = suggest(key, missing);
      if (suggestion !== undefined) meant.add(describePath([...path, suggestion]));
      const hint = suggestion === undefined ? `valid keys: ${known.join(', ')}` : `did you mean ${quoted(suggestion)}?`;
      document.reportKey([...path, key], `unknown key ${quoted(key)}`, hint);
    }
  }

  function visit({ wrapped, item, entries, pick }: DocumentSchema, value: unknown, path: Path): void {
    if (pick) visit(pick(value), value, path);
    else if (wrapped) visit(wrapped, value, path);
    else if (item && Array.isArray(value))
      for (const [index, each] of value.entries()) visit(item, each, [...path, index]);
    else if (entries && isMapping(value)) {
      reportKeys(value, Object.keys(entries), path);
      for (const [key, inner] of Object.entries(entries)) visit(inner, value[key], [...path, key]);
    }
  }

  visit(whole, document.value, []);
  return meant;
}

function pathOf({ path }: Issue): Path {
  return (path ?? []).map(({ key }) => (typeof key === 'number' ? key : String(key)));
}

/** Checks a document against a schema, and reports every mistake once. @returns undefined if it does not fit */
function checkDocument<S extends DocumentSchema>(
  schema: S,
  document: YamlDocument,
): YamlDocument<v.InferOutput<S>> | undefined {
  const mistyped = reportUnknownKeys(schema, document);

  function reportMissing(path: Path): void {
    const parentPath = path.slice(0, -1);
    const key = String(path.at(-1));
    const parent = document.get(parentPath);
    // To valibot, a list is an object whose keys are all missing.
    if (Array.isArray(parent)) document.report(parentPath, `${describePath(parentPath)} must be a mapping, not a list`);
    else if (isMapping(parent) && !Object.hasOwn(parent, key) && !mistyped.has(describePath(path))) {
      const where = parentPath.length > 0 ? ` in ${describePath(parentPath)}` : '';
      document.report(parentPath, `the key ${quoted(key)} is missing${where}`);
    }
  }

  const result = v.safeParse(schema, document.value, { abortPipeEarly: true });
  for (const issue of result.issues ?? []) {
    const path = pathOf(issue);
    if (issue.path?.at(-1)?.origin === 'key') reportMissing(path);
    else if (document.get(path) !== undefined) reportValue(issue, path, document);
  }
  return result.success ? document.checkedAs(result.output) : undefined;
}

interface ReadYamlOptions<S extends DocumentSchema> {
  /** The schema of each document. */
  readonly schema: S;
  /** The value of a variable; undefined if it is not set. */
  readonly lookup: Lookup;
  /** The key of documents that are for another command, and a hint that names it. */
  readonly other: { readonly key: string; readonly hint: string };
  /** Reports what a schema cannot express, such as duplicate names. Called for each document that fits the schema. */
  readonly review?: (document: YamlDocument<v.InferOutput<S>>) => void;
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
export function readYaml<S extends DocumentSchema>(
  sources: readonly YamlSource[],
  { schema, lookup, other, review }: ReadYamlOptions<S>,
): { documents: ReadDocument<v.InferOutput<S>>[]; problems: Problem[] } {
  const documents: ReadDocument<v.InferOutput<S>>[] = [];
  const problems = sources.flatMap((each) => {
    const source = toSourceText(each);
    const found = new ProblemList(source);
    for (const loaded of loadDocuments(source, found, lookup)) {
      if (isMapping(loaded.value) && Object.hasOwn(loaded.value, other.key)) {
        loaded.reportKey([other.key], `unknown key ${quoted(other.key)}`, other.hint);
        continue;
      }
      const before = found.size;
      const document = checkDocument(schema, loaded);
      if (document) review?.(document);
      if (document && found.size === before)
        documents.push({ source: document.fileAndLine([]), value: document.value });
    }
    return found.sorted();
  });
  return { documents, problems: problems.slice(0, MAX_PROBLEMS) };
}
