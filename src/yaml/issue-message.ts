import type * as v from 'valibot';
import type { Path, ValuePlace } from './document-value.ts';
import { quoted } from './quote.ts';
import { suggest } from './suggest.ts';

/** A value that a schema refuses. */
interface RefusedValue {
  readonly path: Path;
  readonly value: unknown;
  readonly place: ValuePlace;
  /** The value as it is in the source. */
  readonly written: string;
}

const EXPECTED: Readonly<Record<string, string>> = {
  string: 'text',
  boolean: 'true or false',
  number: 'a number',
  array: 'a list',
  strict_object: 'a mapping',
};

/** Booleans of YAML 1.1, which are text in YAML 1.2. */
const OLD_BOOLEANS: Readonly<Record<string, boolean>> = { yes: true, on: true, no: false, off: false };

/** A path as people write it, in quotes: `"agents[1].name"`. */
export function describePath(path: Path): string {
  if (path.length === 0) return 'this document';
  const text = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('');
  return quoted(text.replace(/^\./, ''));
}

/** The value for a message. What a variable holds may be a secret, so only the variable is named. */
function describeValue({ value, place: { variables } }: RefusedValue): string {
  if (variables.length > 0) return `the value of ${variables.join(' and ')}`;
  if (value === null) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  return typeof value === 'string' ? quoted(value) : String(value);
}

function booleanHint({ value, place }: RefusedValue): string | undefined {
  if (typeof value !== 'string') return undefined;
  if (place.variables.length > 0) return 'use the variable alone and without quotes, with the value true or false';
  const word = value.toLowerCase();
  const meant = Object.hasOwn(OLD_BOOLEANS, word) ? OLD_BOOLEANS[word] : undefined;
  if (meant !== undefined) return `write ${meant}`;
  return word === 'true' || word === 'false' ? `write ${word} without quotes` : undefined;
}

function hintFor(type: string, refused: RefusedValue): string | undefined {
  if (type === 'boolean') return booleanHint(refused);
  const isUnquoted = typeof refused.value === 'number' || typeof refused.value === 'boolean';
  return type === 'string' && isUnquoted ? `put quotes around it: ${quoted(refused.written)}` : undefined;
}

/** The values of a picklist; an issue names them only as `("a" | "b")`. */
function choicesIn(expected: string | null): string[] {
  return [...(expected ?? '').matchAll(/"([^"]*)"/g)].map(([, choice]) => choice ?? '');
}

/** A valibot issue in the terms of YAML: `"agents" must be a list, not "hi"`. */
export function describeIssue(
  issue: v.BaseIssue<unknown>,
  refused: RefusedValue,
): { message: string; hint?: string | undefined } {
  const { path, value, place } = refused;
  const subject = describePath(path);
  if (issue.kind === 'validation' || issue.type === 'never') return { message: `${subject} ${issue.message}` };
  if (issue.type !== 'picklist') {
    const expected = EXPECTED[issue.type] ?? issue.expected;
    const message = `${subject} must be ${expected}, not ${describeValue(refused)}`;
    return { message, hint: hintFor(issue.type, refused) };
  }
  const choices = choicesIn(issue.expected);
  const meant = typeof value === 'string' && place.variables.length === 0 ? suggest(value, choices) : undefined;
  const message = `${subject} must be ${choices.join(' or ')}, not ${describeValue(refused)}`;
  return { message, hint: meant && `did you mean ${quoted(meant)}?` };
}
