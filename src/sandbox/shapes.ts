import * as v from 'valibot';
import type { FieldProblem } from './problem.ts';

/**
 * An object schema that names every unknown key; `strictObject` stops at the first one.
 * @param entries the known fields.
 */
export function closed<Entries extends v.ObjectEntries>(entries: Entries) {
  return v.pipe(
    v.looseObject(entries),
    v.rawCheck(({ dataset, addIssue }) => {
      const input: unknown = dataset.value;
      if (typeof input !== 'object' || input === null) return;
      for (const [key, value] of Object.entries(input)) {
        if (Object.hasOwn(entries, key)) continue;
        addIssue({
          message: 'is not a known field',
          path: [{ type: 'unknown', origin: 'key', input, key, value }],
        });
      }
    }),
  );
}

/** Text with at least one character that is not white space, at most `max` UTF-16 units. */
export function filledText(max: number) {
  return v.pipe(
    v.string(),
    v.check((text) => text.trim() !== '', 'must not be empty'),
    v.maxLength(max, `must have at most ${max} characters`),
  );
}

/** A caller's conversation key. One that is not well-formed Unicode could be sent in no address. */
export function sessionId() {
  return v.pipe(
    filledText(255),
    v.check((text) => text.isWellFormed(), 'must be well-formed Unicode'),
  );
}

/** The text of a message: whatever JSON can carry, but not nothing. */
export function messageText() {
  return v.pipe(v.string(), v.minLength(1, 'must not be empty'));
}

function pathOf(issue: v.BaseIssue<unknown>): string {
  const path = (issue.path ?? []).map(({ key }) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('');
  return path.startsWith('.') ? path.slice(1) : path;
}

const MAX_SHOWN = 100;

/** A text in quotes, short enough for a message. */
export function shown(value: string): string {
  const text = JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

function messageOf(issue: v.BaseIssue<unknown>): string {
  if (issue.kind === 'schema' && issue.expected === 'never') return 'is not a known field';
  if (issue.kind === 'schema' && issue.received === 'undefined') return 'is required';
  // Only the library's own messages begin so.
  if (!issue.message.startsWith('Invalid ')) return issue.message;
  if (issue.expected === null) return `is not a valid ${issue.type}`;
  const received = typeof issue.input === 'string' ? shown(issue.input) : issue.received;
  return `must be ${issue.expected}, not ${received}`;
}

/**
 * Checks a value against a schema.
 * @returns the value as the schema gives it, or one problem for each wrong field in the order of the schema.
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
  }
  return { ok: false, fields: [...fields.values()] };
}
