import type { ContentfulStatusCode } from 'hono/utils/http-status';
import * as v from 'valibot';

/** The names of this machine in a URL. */
export const LOOPBACK_NAMES = ['127.0.0.1', '[::1]', 'localhost'];

/** One wrong field of a body or a query: where it is (`agents[0].name`), and what is wrong with it. */
interface FieldProblem {
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

function describe(fields: readonly FieldProblem[]): string {
  return fields.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
}

/** Creates a 422 for these fields. */
export function invalidInput(fields: readonly FieldProblem[]): Problem {
  return new Problem(422, 'invalid_input', `Invalid input: ${describe(fields)}.`, fields);
}

/** @throws Problem 404 unless there is a row; `kind` names what it would be: `cron_job` */
export function found<Row>(row: Row | undefined, kind: string, id: string): Row {
  if (row !== undefined) return row;
  throw new Problem(404, `${kind}_not_found`, `There is no ${kind.replaceAll('_', ' ')} ${JSON.stringify(id)}.`);
}

/** Text with at least one character that is not white space. */
export const nonBlank = v.pipe(v.string(), v.regex(/\S/, 'must not be empty'));

/** The text of a message: any but the empty one. */
export const messageText = v.pipe(v.string(), v.nonEmpty('must not be empty'));

export const isoTime = v.pipe(v.string(), v.isoTimestamp());

/** A whole number within bounds. */
export function integer(min: number, max: number) {
  return v.pipe(v.number(), v.integer(), v.minValue(min), v.maxValue(max));
}

/** One of these texts. */
export function oneOf<const Options extends readonly string[]>(...options: Options) {
  return v.picklist(options, ({ received }) => `must be one of ${options.join(', ')}, not ${received}`);
}

/** Refuses what a function throws an error for. */
export function usableBy<Value>(use: (value: Value) => unknown, message: string) {
  return v.check((value: Value) => {
    try {
      use(value);
      return true;
    } catch {
      return false;
    }
  }, message);
}

function pathOf(issue: v.BaseIssue<unknown>): string {
  return (v.getDotPath(issue) ?? '').replace(/(^|\.)(\d+)(?=\.|$)/g, '[$2]');
}

/**
 * Checks a part of a request, or another value.
 * @param refuse turns its problems, one for each wrong field, into the error to throw: by default a Problem 422
 */
export function check<Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
  refuse: (problems: readonly FieldProblem[]) => Error = invalidInput,
): v.InferOutput<Schema> {
  const result = v.safeParse(schema, value, { abortPipeEarly: true });
  if (result.success) return result.output;
  throw refuse(result.issues.map((issue) => ({ path: pathOf(issue), message: issue.message })));
}

/** Checks an option of the sandbox. @param name what it is @throws Error that names every wrong field */
export function checkOption<Schema extends v.GenericSchema>(name: string, schema: Schema, value: unknown) {
  return check(schema, value, (problems) => new Error(`The ${name} is not valid: ${describe(problems)}.`));
}
