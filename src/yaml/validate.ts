import * as v from 'valibot';
import { type DocumentValue, type Path, resolvePath } from './document-value.ts';
import { describeIssue, describePath } from './issue-message.ts';
import type { ProblemList } from './problem.ts';
import { quoted } from './quote.ts';
import type { DocumentSchema } from './schema.ts';
import type { Range, SourceText } from './source-text.ts';
import { suggest } from './suggest.ts';

type Issue = v.BaseIssue<unknown>;

/** For each mapping the missing keys that unknown ones probably stand for. */
type MistypedKeys = ReadonlyMap<object, ReadonlySet<string>>;

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function pathOf(issue: Issue): Path {
  return (issue.path ?? []).map(({ key }) => (typeof key === 'number' ? key : String(key)));
}

/** Lists and mappings are pointed at where they start; other values are underlined. */
function rangeToShow(value: unknown, [start, end]: Range): Range {
  return isObject(value) ? [start, start] : [start, end];
}

/** Returns the first mapping of a schema that has a key: `agents[]`; '' for the document itself. */
function mappingWith({ wrapped, item, entries }: DocumentSchema, key: string, path = ''): string | undefined {
  if (wrapped) return mappingWith(wrapped, key, path);
  if (item) return mappingWith(item, key, `${path}[]`);
  if (!entries || Object.hasOwn(entries, key)) return entries && path;
  const prefix = path === '' ? '' : `${path}.`;
  const found = Object.entries(entries).map(([name, inner]) => mappingWith(inner, key, `${prefix}${name}`));
  return found.find((each) => each !== undefined);
}

function unknownKeyHint(schema: DocumentSchema, key: string, known: readonly string[]): string {
  const valid = known.join(', ');
  const home = mappingWith(schema, key);
  if (home === undefined) return `valid keys: ${valid}`;
  return `${quoted(key)} belongs ${home === '' ? 'at the top level' : `in ${quoted(home)}`}; valid keys here: ${valid}`;
}

/** Reports the keys of every mapping that the schema does not have; valibot itself stops at the first of a mapping. */
function reportUnknownKeys(schema: DocumentSchema, document: DocumentValue, problems: ProblemList): MistypedKeys {
  const mistyped = new Map<object, ReadonlySet<string>>();

  function visit({ wrapped, item, entries, pick }: DocumentSchema, value: unknown): void {
    if (pick) visit(pick(value), value);
    else if (wrapped) visit(wrapped, value);
    else if (item && Array.isArray(value)) for (const each of value) visit(item, each);
    else if (entries && isObject(value) && !Array.isArray(value)) {
      mistyped.set(value, reportKeys(Object.keys(entries), value));
      for (const [key, inner] of Object.entries(entries)) visit(inner, Reflect.get(value, key));
    }
  }

  function reportKeys(known: readonly string[], mapping: object): Set<string> {
    const places = document.places.get(mapping);
    const missing = known.filter((key) => !places?.has(key));
    const meant = new Set<string>();
    for (const [key, { keyRange }] of places ?? []) {
      if (known.includes(String(key))) continue;
      const suggestion = suggest(String(key), missing);
      if (suggestion !== undefined) meant.add(suggestion);
      const hint =
        suggestion === undefined ? unknownKeyHint(schema, String(key), known) : `did you mean ${quoted(suggestion)}?`;
      problems.add(keyRange, `unknown key ${quoted(String(key))}`, hint);
    }
    return meant;
  }

  visit(schema, document.root);
  return mistyped;
}

/** Converts bare variables to booleans if the schema expects one. @returns whether it converted any */
function convertBooleans(issues: readonly Issue[], document: DocumentValue): boolean {
  let converted = false;
  for (const issue of issues) {
    const path = pathOf(issue);
    const key = path.at(-1);
    const { value, place } = resolvePath(document, path);
    const parent = resolvePath(document, path.slice(0, -1)).value;
    const isBoolean = issue.type === 'boolean' && place.isBareVariable && (value === 'true' || value === 'false');
    if (!isBoolean || key === undefined || !isObject(parent)) continue;
    Reflect.set(parent, key, value === 'true');
    converted = true;
  }
  return converted;
}

/**
 * Checks a document against a schema and reports every mistake once.
 * @returns the checked value; undefined if it does not fit the schema
 */
export function validate<S extends DocumentSchema>(
  schema: S,
  document: DocumentValue,
  source: SourceText,
  problems: ProblemList,
): v.InferOutput<S> | undefined {
  const mistyped = reportUnknownKeys(schema, document, problems);

  function reportMissing(path: Path): void {
    const parentPath = path.slice(0, -1);
    const key = String(path.at(-1));
    const { value: parent, place } = resolvePath(document, parentPath);
    const range = [place.range[0], place.range[0]] as const;
    // To valibot, a list is an object whose keys are all missing.
    if (Array.isArray(parent)) problems.add(range, `${describePath(parentPath)} must be a mapping, not a list`);
    else if (isObject(parent) && !document.places.get(parent)?.has(key) && !mistyped.get(parent)?.has(key)) {
      const where = parentPath.length > 0 ? ` in ${describePath(parentPath)}` : '';
      problems.add(range, `the key ${quoted(key)} is missing${where}`);
    }
  }

  function report(issue: Issue): void {
    const path = pathOf(issue);
    const { value, place, exists } = resolvePath(document, path);
    if (issue.path?.at(-1)?.origin === 'key') reportMissing(path);
    else if (exists) {
      const { message, hint } = describeIssue(issue, {
        path,
        value,
        place,
        written: source.text.slice(...place.range),
      });
      problems.add(rangeToShow(value, place.range), message, hint);
    }
  }

  const parse = () => v.safeParse(schema, document.root, { abortPipeEarly: true });
  let result = parse();
  if (!result.success && convertBooleans(result.issues, document)) result = parse();
  for (const issue of result.issues ?? []) report(issue);
  return result.success ? result.output : undefined;
}
