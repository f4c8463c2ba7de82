import { ASSUMPTIONS, ErrorInBody, UnknownShape } from '../contract/assumptions.ts';
import { readErrorBody } from '../contract/error-body.ts';
import { describeJson, parseJson } from '../contract/json.ts';
import type { Operation } from '../contract/operations.ts';
import { type ErrorInfo, ErrorInSuccessBody, NotJsonError, type PartnerctlError, ShapeError } from '../errors.ts';
import { toIndeterminate } from './call-errors.ts';
import type { HttpResponse } from './transport.ts';

/** The response to a call that succeeded, with readers for its body. */
export class ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly requestId: string;
  /** Path and query of the request. */
  readonly path: string;
  /** How many attempts it took; those before were lost or failed. */
  readonly attempts: number;
  private readonly operation: Operation;
  private readonly body: string;
  private readonly redact: (text: string) => string;
  private parsed: { readonly value: unknown } | undefined;

  /** @param redact takes secrets out of a text before a part of it is quoted or kept */
  constructor(
    { status, headers, body }: HttpResponse,
    request: {
      readonly operation: Operation;
      readonly path: string;
      readonly requestId: string;
      readonly attempts: number;
    },
    redact: (text: string) => string,
  ) {
    this.status = status;
    this.headers = headers;
    this.requestId = headers['x-request-id'] ?? request.requestId;
    this.path = request.path;
    this.attempts = request.attempts;
    this.operation = request.operation;
    this.body = body;
    this.redact = redact;
  }

  /** Returns the body as JSON. @throws ShapeError if it is none; for a `once` call OutcomeUnknownError, caused by that */
  json(): unknown {
    // What a write returns is recorded, and people pass state files on.
    const text = this.operation.safety === 'safe' ? this.body : this.redact(this.body);
    try {
      this.parsed ??= { value: parseJson(text) };
      return this.parsed.value;
    } catch {
      const message = 'The response is not JSON.';
      const info = this.unexpectedInfo(describeBody(this.redact(this.body), this.headers['content-type']));
      // An empty body is not a gateway page, and not a cut response.
      const isEmpty = this.body.trim() === '';
      throw this.unexpected(isEmpty ? new ShapeError(message, info) : new NotJsonError(message, info));
    }
  }

  /** Runs a reader of `contract` on the body. @throws as `json`, also in place of the reader's UnknownShape */
  read<Value>(reader: (body: unknown) => Value): Value {
    const value = this.json();
    try {
      return reader(value);
    } catch (error) {
      if (!(error instanceof UnknownShape)) throw error;
      const info = this.unexpectedInfo(error.seen, error);
      throw this.unexpected(
        error instanceof ErrorInBody
          ? new ErrorInSuccessBody(error.message, info)
          : new ShapeError(error.message, info),
      );
    }
  }

  private unexpectedInfo(seen: string, shape?: UnknownShape): ErrorInfo {
    const { status, requestId, operation } = this;
    const assumed = shape ? `Assumed (${shape.assumption}): ${ASSUMPTIONS[shape.assumption]}. ` : '';
    return {
      why: `${operation.name} responded with ${status} and ${seen}.`,
      hint: `${assumed}Run the command again with --debug to see the whole response.`,
      status,
      requestId,
      details: { operation: operation.name, assumption: shape?.assumption ?? null, seen },
    };
  }

  /** A gateway may have replaced the response, so not even its status proves anything. */
  private unexpected(error: ShapeError): PartnerctlError {
    return toIndeterminate(error, this.operation);
  }
}

/** Describes a body that should have been JSON. */
function describeBody(body: string, contentType: string | undefined): string {
  if (body.trim() === '') return 'an empty body';
  return readErrorBody(body, contentType).message ?? describeJson(body);
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
