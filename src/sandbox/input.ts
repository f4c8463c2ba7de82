import { json } from 'node:stream/consumers';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import * as v from 'valibot';
import type { ServiceContext } from './service.ts';

const MAX_QUOTED = 100;

/** One wrong field of a body or a query: where it is (`agents[0].name`), and what is wrong with it. */
export interface FieldProblem {
  readonly path: string;
  readonly message: string;
}

/** A request that the service refuses. Thrown anywhere, and sent as an error response. Only a 422 has `fields`. */
export class Problem extends Error {
  readonly status: ContentfulStatusCode;
  readonly code: string;
  readonly fields: readonly FieldProblem[] | undefined;

  constructor(status: ContentfulStatusCode, code: string, message: string, fields?: readonly FieldProblem[]) {
    super(message);
    this.status = status;
    this.code = code;
    this.fields = fields;
  }
}

/** Creates a 422 for these fields. */
export function invalidInput(fields: readonly FieldProblem[]): Problem {
  const [first] = fields;
  const more = fields.length > 1 ? ` (and ${fields.length - 1} more)` : '';
  const message = `Invalid input: ${first?.path} ${first?.message}${more}.`.replace('  ', ' ');
  return new Problem(422, 'invalid_input', message, fields);
}

/** Quotes a text for a message, shortened to 100 characters. */
export function quote(value: string): string {
  const text = JSON.stringify(value);
  return text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text;
}

/** @throws Problem 404 unless there is a row; `kind` names what it would be: `cron_job` */
export function found<Row>(row: Row | undefined, kind: string, id: string): Row {
  if (row !== undefined) return row;
  throw new Problem(404, `${kind}_not_found`, `There is no ${kind.replaceAll('_', ' ')} ${quote(id)}.`);
}

/** Text with at least one character that is not white space. */
export const nonBlank = v.pipe(v.string(), v.regex(/\S/, 'must not be empty'));

/** The text of a message: any but the empty one. */
export const messageTextSchema = v.pipe(v.string(), v.nonEmpty('must not be empty'));

/** The library's type names in plain English. */
const TYPE_NAMES: Readonly<Partial<Record<string, string>>> = {
  Array: 'a list',
  Object: 'an object',
  boolean: 'true or false',
  number: 'a number',
  string: 'a string',
};

function describeIssue(issue: v.BaseIssue<unknown>): string {
  if (issue.kind === 'schema' && issue.expected === 'never') return 'is not a known field';
  if (issue.kind === 'schema' && issue.received === 'undefined') return 'is required';
  // Only the library's own messages begin with "Invalid".
  if (!issue.message.startsWith('Invalid ')) return issue.message;
  if (issue.expected === null) return `is not a valid ${issue.type}`;
  const received = typeof issue.input === 'string' ? quote(issue.input) : TYPE_NAMES[issue.received];
  return `must be ${TYPE_NAMES[issue.expected] ?? issue.expected}, not ${received ?? issue.received}`;
}

function pathOf({ path }: v.BaseIssue<unknown>): string {
  const segments = (path ?? []).map(({ key }) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`));
  return segments.join('').replace(/^\./, '');
}

/** Checks a value. @param refuse turns its problems, one for each wrong field, into the error to throw */
function check<Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
  refuse: (problems: readonly FieldProblem[]) => Error,
): v.InferOutput<Schema> {
  const result = v.safeParse(schema, value, { abortPipeEarly: true });
  if (result.success) return result.output;
  throw refuse(result.issues.map((issue) => ({ path: pathOf(issue), message: describeIssue(issue) })));
}

/** Checks a part of a request. @throws Problem 422 that names every wrong field */
export function checkInput<Schema extends v.GenericSchema>(schema: Schema, value: unknown): v.InferOutput<Schema> {
  return check(schema, value, invalidInput);
}

/** Checks an option of the sandbox. @param name what it is @throws Error that names every wrong field */
export function checkOption<Schema extends v.GenericSchema>(name: string, schema: Schema, value: unknown) {
  return check(schema, value, (problems) => {
    const reasons = problems.map(({ path, message }) => `${path} ${message}`.trim());
    return new Error(`The ${name} is not valid: ${reasons.join('; ')}.`);
  });
}

/**
 * Receives a JSON object and checks it.
 * @throws Problem 415 for another content type, 400 for a body that is not JSON, 422 for wrong fields
 */
export async function readBody<Schema extends v.GenericSchema>(
  c: ServiceContext,
  schema: Schema,
): Promise<v.InferOutput<Schema>> {
  const { incoming } = c.env;
  if (!/^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(incoming.headers['content-type'] ?? '')) {
    throw new Problem(415, 'unsupported_media_type', 'The body must be sent with Content-Type: application/json.');
  }
  const value = await json(incoming).catch((error) => {
    throw new Problem(400, 'malformed_json', `The body is not JSON: ${error}`);
  });
  await c.get('onBodyReceived')?.();
  const entry = c.get('entry');
  if (entry) entry.body = value;
  return checkInput(schema, value);
}
