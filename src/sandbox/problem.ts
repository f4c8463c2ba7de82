import type { ContentfulStatusCode } from 'hono/utils/http-status';

/** One wrong field of a body or a query: where it is (`agents[0].name`) and what is wrong with it. */
export interface FieldProblem {
  readonly path: string;
  readonly message: string;
}

interface ProblemDetails {
  readonly fields?: readonly FieldProblem[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request that the service refuses. Thrown anywhere; sent as an error response. */
export class Problem extends Error {
  readonly status: ContentfulStatusCode;
  readonly code: string;
  readonly details: ProblemDetails;

  constructor(status: ContentfulStatusCode, code: string, message: string, details: ProblemDetails = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** The body of an error response; only a 422 has `fields`. */
export function problemBody({ code, message, details: { fields } }: Problem, requestId: string) {
  return { error: { code, message, request_id: requestId, ...(fields && { fields }) } };
}

/** Creates a 422 for these fields. */
export function invalidInput(fields: readonly FieldProblem[]): Problem {
  const [first] = fields;
  const summary = first ? `${first.path} ${first.message}`.trim() : 'The input is not valid';
  const more = fields.length > 1 ? ` (and ${fields.length - 1} more)` : '';
  return new Problem(422, 'invalid_input', `Invalid input: ${summary}${more}.`, { fields });
}
