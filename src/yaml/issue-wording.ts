import type * as v from 'valibot';
import type { Finding } from './finding.ts';
import { quoted } from './shown.ts';
import { nearest } from './suggest.ts';
import type { Path, Place } from './tree.ts';

type Said = Pick<Finding, 'message' | 'hint'>;

/** A value that a schema refuses. */
export interface Refused {
  readonly path: Path;
  readonly value: unknown;
  readonly place: Place;
  /** The value as it stands in the source. */
  readonly written: string;
}

const WANTED: Readonly<Record<string, string>> = {
  string: 'text',
  boolean: 'true or false',
  number: 'a number',
  array: 'a list',
  strict_object: 'a mapping',
};

/** What YAML 1.1 took for booleans, and YAML 1.2 takes for text. */
const OLD_BOOLEANS = new Map([
  ['yes', true],
  ['on', true],
  ['no', false],
  ['off', false],
]);

/** A path as people write it, in quotes: `"agents[1].name"`. */
export function label(path: Path): string {
  if (path.length === 0) return 'this document';
  const text = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('');
  return quoted(text.replace(/^\./, ''));
}

function kindOf(value: unknown): string {
  if (value === null) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  return typeof value === 'string' ? `the text ${quoted(value)}` : `the ${typeof value} ${String(value)}`;
}

/** What came. What a variable holds may be a secret, so only its name is said. */
function came({ value, place }: Refused): string {
  return place.variables.length > 0 ? `what ${place.variables.join(' and ')} holds` : kindOf(value);
}

function booleanHint({ value, place }: Refused): string | undefined {
  if (typeof value !== 'string') return undefined;
  if (place.variables.length > 0)
    return 'a variable can stand here alone and without quotes, and must hold true or false';
  const meant = OLD_BOOLEANS.get(value.toLowerCase());
  if (meant !== undefined) return `write ${meant}`;
  return /^(?:true|false)$/i.test(value) ? `write ${value.toLowerCase()}, without quotes` : undefined;
}

function hintFor(type: string, refused: Refused): string | undefined {
  if (type === 'boolean') return booleanHint(refused);
  const isPlain = typeof refused.value === 'number' || typeof refused.value === 'boolean';
  return type === 'string' && isPlain ? `put quotes around it: ${quoted(refused.written)}` : undefined;
}

/** The words of a picklist; an issue names them only as `("a" | "b")`. */
function choicesIn(expected: string | null): string[] {
  return [...(expected ?? '').matchAll(/"([^"]*)"/g)].map(([, choice]) => choice ?? '');
}

/** Says a schema's issue in words for a person who writes YAML. */
export function wording(issue: v.BaseIssue<unknown>, refused: Refused): Said {
  const { path, value, place } = refused;
  if (issue.kind === 'validation' || issue.type === 'never') return { message: `${label(path)} ${issue.message}` };
  if (issue.type !== 'picklist') {
    const wanted = WANTED[issue.type] ?? issue.expected;
    return { message: `${label(path)} must be ${wanted}, not ${came(refused)}`, hint: hintFor(issue.type, refused) };
  }
  const choices = choicesIn(issue.expected);
  const meant = typeof value === 'string' && place.variables.length === 0 ? nearest(value, choices) : undefined;
  const message = `${label(path)} must be ${choices.join(' or ')}, not ${came(refused)}`;
  return { message, hint: meant && `did you mean ${quoted(meant)}?` };
}
