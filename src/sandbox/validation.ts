import ms, { type StringValue } from 'ms';
import * as v from 'valibot';
import type { FieldProblem } from './problem.ts';

/** How many problems a response names. */
const MAX_PROBLEMS = 100;

/** An object schema that reports every unknown key; `strictObject` stops at the first one. */
export function closedObject<Entries extends v.ObjectEntries>(entries: Entries) {
  return v.pipe(
    v.looseObject(entries),
    v.rawCheck(({ dataset, addIssue }) => {
      const input: unknown = dataset.value;
      if (typeof input !== 'object' || input === null) return;
      const unknown = Object.entries(input).filter(([key]) => !Object.hasOwn(entries, key));
      for (const [key, value] of unknown.slice(0, MAX_PROBLEMS)) {
        addIssue({
          message: 'is not a known field',
          path: [{ type: 'unknown', origin: 'key', input, key, value }],
        });
      }
    }),
  );
}

/** Text with at least one character that is not white space, at most `max` UTF-16 units. */
export function nonBlankText(max: number) {
  return v.pipe(
    v.string(),
    v.check((text) => text.trim() !== '', 'must not be empty'),
    v.maxLength(max, `must have at most ${max} characters`),
  );
}

/** A session id that a caller chooses. Well-formed Unicode, because it is part of URLs. */
export function sessionId() {
  return v.pipe(
    nonBlankText(255),
    v.check((text) => text.isWellFormed(), 'must be well-formed Unicode'),
  );
}

/** The text of a message: any text but the empty one. */
export function messageText() {
  return v.pipe(v.string(), v.minLength(1, 'must not be empty'));
}

function isDuration(text: string): text is StringValue {
  return /^\d{1,15}(\.\d{1,3})?(ms|s|m|h|d|w)$/.test(text);
}

/** A duration as text, parsed to milliseconds. */
export function durationMs() {
  return v.pipe(
    v.string(),
    v.guard(isDuration, 'must be a duration such as 7d, 12h, 30m, 10s, or 500ms'),
    v.transform((text) => Math.round(ms(text))),
  );
}

function pathOf(issue: v.BaseIssue<unknown>): string {
  const path = (issue.path ?? []).map(({ key }) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('');
  return path.startsWith('.') ? path.slice(1) : path;
}

const MAX_QUOTED = 100;

/** Quotes a text for a message; cuts it after 100 characters. */
export function quote(value: string): string {
  const text = JSON.stringify(value);
  return text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text;
}

/** The library's type names in plain English. */
const TYPE_NAMES: Readonly<Partial<Record<string, string>>> = {
  Array: 'a list',
  Object: 'an object',
  boolean: 'true or false',
  number: 'a number',
  string: 'a string',
};

function messageOf(issue: v.BaseIssue<unknown>): string {
  if (issue.kind === 'schema' && issue.expected === 'never') return 'is not a known field';
  if (issue.kind === 'schema' && issue.received === 'undefined') return 'is required';
  // Only the library's own messages begin with "Invalid".
  if (!issue.message.startsWith('Invalid ')) return issue.message;
  if (issue.expected === null) return `is not a valid ${issue.type}`;
  const received =
    typeof issue.input === 'string' ? quote(issue.input) : (TYPE_NAMES[issue.received] ?? issue.received);
  return `must be ${TYPE_NAMES[issue.expected] ?? issue.expected}, not ${received}`;
}

/**
 * Checks a value against a schema.
 * @returns the parsed value, or one problem for each wrong field in the order of the schema, up to 100
 */
export function check<Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
): { ok: true; value: v.InferOutput<Schema> } | { ok: false; fields: FieldProblem[] } {
  const result = v.safeParse(schema, value);
  if (result.success) return { ok: true, value: result.output };
  const fields = new Map<string, FieldProblem>();
  for (const issue of result.issues) {
    const path = pathOf(issue);
    if (!fields.has(path)) fields.set(path, { path, message: messageOf(issue) });
    if (fields.size === MAX_PROBLEMS) break;
  }
  return { ok: false, fields: [...fields.values()] };
}

/**
 * Checks a value that is not part of a request.
 * @param name what the value is, for the message
 * @throws Error that names every wrong field
 */
export function parseOrThrow<Schema extends v.GenericSchema>(
  name: string,
  schema: Schema,
  value: unknown,
): v.InferOutput<Schema> {
  const result = check(schema, value);
  if (result.ok) return result.value;
  const problems = result.fields.map(({ path, message }) => `${path} ${message}`.trim());
  throw new Error(`The ${name} is not valid: ${problems.join('; ')}.`);
}
