import type { ContentfulStatusCode } from 'hono/utils/http-status';

/** One wrong field of a body or a query: where it is (`agents[0].name`) and what is wrong with it. */
export interface FieldProblem {
  readonly path: string;
  readonly message: string;
}

export interface ProblemFacts {
  readonly fields?: readonly FieldProblem[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request that the service refuses: thrown anywhere, answered in the one error shape of the service. */
export class Problem extends Error {
  readonly status: ContentfulStatusCode;
  readonly code: string;
  readonly facts: ProblemFacts;

  constructor(status: ContentfulStatusCode, code: string, message: string, facts: ProblemFacts = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.facts = facts;
  }
}

export interface ProblemBody {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly request_id: string;
    readonly fields?: readonly FieldProblem[];
  };
}

/** The error body of every refusal; `fields` is there for 422 alone. */
export function problemBody(problem: Problem, requestId: string): ProblemBody {
  const { code, message, facts } = problem;
  return { error: { code, message, request_id: requestId, ...(facts.fields && { fields: facts.fields }) } };
}

/** 422 for the fields named. */
export function invalidInput(fields: readonly FieldProblem[]): Problem {
  const first = fields[0];
  const where = first?.path ? `${first.path} ${first.message}` : (first?.message ?? 'The input is not valid');
  const more = fields.length > 1 ? ` (and ${fields.length - 1} more)` : '';
  return new Problem(422, 'invalid_input', `Invalid input: ${where}${more}.`, { fields });
}
