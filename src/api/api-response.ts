import { ASSUMPTIONS, type AssumptionName, ErrorInBody, UnknownShape } from '../contract/assumptions.ts';
import { parseJson } from '../contract/json.ts';
import type { Operation } from '../contract/operations.ts';
import { ErrorInSuccessBody, NotJsonError, type PartnerctlError, ShapeError } from '../errors.ts';
import { describeBody, toIndeterminate } from './call-errors.ts';
import type { HttpRequest, TransportResult } from './transport.ts';

/** A successful answer. */
export interface ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly requestId: string;
  /** Path and query that were asked. */
  readonly path: string;
  /** How many attempts it took; the answers to earlier ones were lost or were failures. */
  readonly attempts: number;
  /** The body as JSON. @throws ShapeError when it is none; for a `once` call OutcomeUnknownError, with that as its cause. */
  json(): unknown;
  /** Runs a reader of `contract` on this answer. @throws as `json` does, also in place of the reader's UnknownShape. */
  read<Value>(reader: (body: unknown) => Value): Value;
}

/**
 * The answer to a call that succeeded; its body is read when it is asked for.
 * @param attempts how many it took
 * @param redact takes secrets out of a text before a part of it is quoted, or kept
 */
export function createApiResponse(
  operation: Operation,
  { status, headers, body }: Extract<TransportResult, { kind: 'response' }>,
  request: HttpRequest,
  attempts: number,
  redact: (text: string) => string,
): ApiResponse {
  const requestId = headers['x-request-id'] ?? request.requestId;
  const unexpected = (
    Kind: typeof ShapeError,
    assumption: AssumptionName | undefined,
    message: string,
    seen: string,
  ): PartnerctlError => {
    const failure = new Kind(message, {
      why: `${operation.name} answered ${status} with ${seen}.`,
      hint: `${assumption ? `Assumed (${assumption}): ${ASSUMPTIONS[assumption]}. ` : ''}Run it again with --debug to see the whole answer.`,
      status,
      requestId,
      details: { operation: operation.name, assumption: assumption ?? null, seen },
    });
    // A gateway may have put its own page in place of the answer, so not even the status is proof.
    return toIndeterminate(failure, operation);
  };
  // What a write gives back is recorded, and people pass the state file on.
  const known = operation.safety === 'safe' ? body : redact(body);
  let parsed: { readonly value: unknown } | undefined;
  const json = (): unknown => {
    try {
      parsed ??= { value: parseJson(known) };
      return parsed.value;
    } catch {
      // Nothing at all is no other's page, and no part of an answer.
      const Kind = body.trim() === '' ? ShapeError : NotJsonError;
      const seen = describeBody(redact(body), headers['content-type']);
      throw unexpected(Kind, undefined, 'The answer is not JSON.', seen);
    }
  };
  return {
    status,
    headers,
    requestId,
    path: request.path,
    attempts,
    json,
    read(reader) {
      const value = json();
      try {
        return reader(value);
      } catch (error) {
        if (!(error instanceof UnknownShape)) throw error;
        const Kind = error instanceof ErrorInBody ? ErrorInSuccessBody : ShapeError;
        throw unexpected(Kind, error.assumption, error.message, error.seen);
      }
    },
  };
}

/**
 * Runs a reader of `contract` on an item of a list.
 * @throws ShapeError in place of the reader's UnknownShape
 */
export function readItem<Item, Value>(item: Item, reader: (item: Item) => Value): Value {
  try {
    return reader(item);
  } catch (error) {
    if (!(error instanceof UnknownShape)) throw error;
    throw new ShapeError(error.message, {
      why: `The item is ${error.seen}.`,
      details: { assumption: error.assumption, seen: error.seen },
    });
  }
}
