import { buffer } from 'node:stream/consumers';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import * as v from 'valibot';
import type { ServiceContext } from './service.ts';

const MAX_QUOTED = 100;

/** One wrong field of a body or a query: where it is (`agents[0].name`), and what is wrong with it. */
export interface FieldProblem {
  readonly path: string;
  readonly message: string;
}

/** A request that the service refuses. Thrown anywhere, and sent as an error response. */
export class Problem extends Error {
  readonly status: ContentfulStatusCode;
  readonly code: string;
  readonly details: { readonly fields?: readonly FieldProblem[]; readonly headers?: Record<string, string> };

  constructor(status: ContentfulStatusCode, code: string, message: string, details: Problem['details'] = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }

  /** The body of the error response; only a 422 has `fields`. */
  body(requestId: string) {
    const { fields } = this.details;
    return { error: { code: this.code, message: this.message, request_id: requestId, ...(fields && { fields }) } };
  }
}

/** Creates a 422 for these fields. */
export function invalidInput(fields: readonly FieldProblem[], code = 'invalid_input'): Problem {
  const [first] = fields;
  const more = fields.length > 1 ? ` (and ${fields.length - 1} more)` : '';
  const message = `Invalid input: ${first?.path} ${first?.message}${more}.`.replace('  ', ' ');
  return new Problem(422, code, message, { fields });
}

/** Quotes a text for a message, shortened to 100 characters. */
export function quote(value: string): string {
  const text = JSON.stringify(value);
  return text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text;
}

/** Text with at least one character that is not white space. */
export function nonBlank(max = 255) {
  return v.pipe(
    v.string(),
    v.check((text) => text.trim() !== '', 'must not be empty'),
    v.maxLength(max, `must have at most ${max} characters`),
  );
}

/** A session id that a caller chooses. Well-formed Unicode, because it is part of URLs. */
export const sessionIdSchema = v.pipe(
  nonBlank(),
  v.check((text) => text.isWellFormed(), 'must be well-formed Unicode'),
);

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

/** The problems of a value that does not fit its schema, one for each field. */
function problemsOf(issues: readonly v.BaseIssue<unknown>[]): FieldProblem[] {
  const fields = new Map<string, FieldProblem>();
  for (const issue of issues) {
    const path = pathOf(issue);
    if (!fields.has(path)) fields.set(path, { path, message: describeIssue(issue) });
  }
  return [...fields.values()];
}

/** Checks a part of a request. @throws Problem 422 that names every wrong field */
export function checkInput<Schema extends v.GenericSchema>(schema: Schema, value: unknown): v.InferOutput<Schema> {
  const result = v.safeParse(schema, value);
  if (result.success) return result.output;
  throw invalidInput(problemsOf(result.issues));
}

/** Checks an option of the sandbox. @param name what it is @throws Error that names every wrong field */
export function checkOption<Schema extends v.GenericSchema>(name: string, schema: Schema, value: unknown) {
  const result = v.safeParse(schema, value);
  if (result.success) return result.output;
  const problems = problemsOf(result.issues).map(({ path, message }) => `${path} ${message}`.trim());
  throw new Error(`The ${name} is not valid: ${problems.join('; ')}.`);
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Problem(400, 'malformed_json', `The body is not JSON: ${reason}`);
  }
}

/**
 * Receives a JSON object and checks it.
 * @throws Problem 415 for another content type, 400 for a body that ends early or is not JSON, 422 for wrong fields
 */
export async function readBody<Schema extends v.GenericSchema>(
  c: ServiceContext,
  schema: Schema,
): Promise<v.InferOutput<Schema>> {
  const { incoming } = c.env;
  if (!/^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(incoming.headers['content-type'] ?? '')) {
    throw new Problem(415, 'unsupported_media_type', 'The body must be sent with Content-Type: application/json.');
  }
  const bytes = await buffer(incoming).catch(() => {
    throw new Problem(400, 'incomplete_body', 'The connection ended before the body did.');
  });
  await c.get('onBodyReceived')?.();
  const value = parseJson(bytes);
  const entry = c.get('entry');
  if (entry) entry.body = value;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return checkInput(schema, value);
  throw invalidInput([{ path: '', message: 'must be an object' }]);
}
