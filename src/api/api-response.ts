import { ASSUMPTIONS, describeFix, ErrorInBody, UnknownShape } from '../contract/assumptions.ts';
import type { Contract } from '../contract/contract.ts';
import { readErrorBody } from '../contract/error-body.ts';
import { describeJson, findIds, JsonLimitError, parseJson } from '../contract/json.ts';
import { bodyOfLocation } from '../contract/location-header.ts';
import type { Operation, RawOperation } from '../contract/operations.ts';
import {
  EmptyResponseError,
  type ErrorInfo,
  ErrorInSuccessBody,
  NotJsonError,
  OutcomeUnknownError,
  type PartnerctlError,
  ShapeError,
} from '../errors.ts';
import type { HttpResponse } from './transport.ts';

/** No Content. */
const NO_CONTENT = 204;

/**
 * Returns the error for a call that the service may or may not have processed: for a `once` call, an
 * OutcomeUnknownError with the failure as its cause; for any other call, the failure itself. The caller adds a hint.
 */
export function toIndeterminate(failure: PartnerctlError, { name, safety }: Operation | RawOperation): PartnerctlError {
  if (safety !== 'once') return failure;
  const { message, info } = failure;
  return new OutcomeUnknownError(`The outcome of ${name} is unknown.`, {
    ...info,
    why: info.why === undefined ? message : `${message}\n${info.why}`,
    hint: undefined,
    cause: failure,
  });
}

/** The response to a successful call, with methods that read its body. */
export class ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly requestId: string;
  /** Path and query of the request. */
  readonly path: string;
  /** The number of attempts, including this one; all earlier attempts failed. */
  readonly attempts: number;
  /** The undecoded body, only for a call that the user typed (`partnerctl api`). */
  readonly bytes: Uint8Array | undefined;
  private readonly operation: Operation | RawOperation;
  private readonly contract: Contract;
  private readonly body: string;
  private readonly isGarbled: boolean;
  private readonly redact: (text: string) => string;
  private parsed: { readonly value: unknown } | undefined;

  /** @param redact removes secrets from a text before any of it is quoted or stored */
  constructor(
    { status, headers, body, isGarbled, bytes }: HttpResponse,
    request: {
      readonly operation: Operation | RawOperation;
      readonly path: string;
      readonly url: string;
      readonly requestId: string;
      readonly attempts: number;
      readonly contract: Contract;
    },
    redact: (text: string) => string,
  ) {
    this.status = status;
    this.headers = headers;
    this.requestId = headers['x-request-id'] ?? request.requestId;
    this.path = request.path;
    this.attempts = request.attempts;
    this.operation = request.operation;
    this.contract = request.contract;
    this.body = body;
    this.isGarbled = isGarbled;
    this.bytes = bytes;
    const isWithoutBody = /^\s*(?:null|\{\s*\}|"")?\s*$/.test(body);
    const { leaf } = request.operation;
    const value = isWithoutBody && leaf ? bodyOfLocation(headers.location, leaf, request.url) : undefined;
    if (value) this.parsed = { value };
    this.redact = redact;
  }

  /**
   * Returns the body as JSON.
   * @throws ShapeError if the body is not JSON, or exceeds the limits of `parseJson`, or is what a read returned in an
   *   unknown encoding; for a `once` call, OutcomeUnknownError with the ShapeError as its cause
   */
  json(): unknown {
    // What the response says may end up in the state file, which people share.
    this.parsed ??= { value: this.parse(this.redact(this.body)) };
    // Names in a list match nothing. A history is shown, and the response to a write is needed for its id, which is ASCII.
    const isShown = this.operation.safety !== 'safe' || this.operation.leaf === 'messages.history';
    if (this.isGarbled && !isShown) throw this.garbled();
    return this.parsed.value;
  }

  private parse(text: string): unknown {
    try {
      return parseJson(text);
    } catch (error) {
      if (error instanceof JsonLimitError) {
        throw this.unexpected(new ShapeError(`The response ${error.message}.`, this.unexpectedInfo('JSON')));
      }
      const message = 'The response is not JSON.';
      const info = this.unexpectedInfo(describeBody(this.redact(this.body), this.headers['content-type']));
      const isEmpty = this.body.trim() === '';
      if (!isEmpty) throw this.unexpected(new NotJsonError(message, info));
      const { leaf } = this.operation;
      const none = `If the service has no such list: partnerctl contract set ${leaf} none`;
      const hint = leaf?.endsWith('.list') ? none : info.hint;
      throw this.unexpected(new EmptyResponseError(message, { ...info, hint }));
    }
  }

  private garbled(): PartnerctlError {
    const contentType = this.headers['content-type'] ?? 'no Content-Type';
    return new ShapeError('The response is not text in the encoding that it names, by default UTF-8.', {
      ...this.unexpectedInfo(`bytes in an unknown encoding (${contentType})`),
      hint: 'The service must send JSON in UTF-8, or name its encoding: Content-Type: application/json; charset=<name>\nUntil then, names in the response cannot be compared.',
    });
  }

  /** Makes `json` return null for a 204 without a body, where the caller knows that it stands for an empty list. */
  acceptNothing(): void {
    if (this.status === NO_CONTENT && this.body.trim() === '') this.parsed ??= { value: null };
  }

  /**
   * Runs a reader from `contract` on the body.
   * @throws as `json`, and converts the reader's UnknownShape the same way
   */
  read<Value>(reader: (body: unknown, contract: Contract) => Value): Value {
    const value = this.json();
    try {
      return reader(value, this.contract);
    } catch (error) {
      if (!(error instanceof UnknownShape)) throw error;
      const ids = error instanceof ErrorInBody || this.operation.safety === 'safe' ? {} : findIds(value);
      const shape = this.unexpectedInfo(error.seen, error, ids);
      const said =
        error instanceof ErrorInBody
          ? readErrorBody(this.redact(this.body), 'application/json', this.contract)
          : undefined;
      const sentences = [said?.message, ...(said?.fields ?? []).map(({ message }) => message)];
      const why = [...new Set(sentences), shape.why].filter((each) => each !== undefined).join('\n');
      const info = { ...shape, why, ...(said?.code !== undefined && { code: said.code }) };
      throw this.unexpected(
        error instanceof ErrorInBody
          ? new ErrorInSuccessBody(error.message, info)
          : new ShapeError(error.message, info),
      );
    }
  }

  /** @param ids what may be the id of what was created, of which this message may be the only trace */
  private unexpectedInfo(seen: string, shape?: UnknownShape, ids: Readonly<Record<string, string>> = {}): ErrorInfo {
    const { status, requestId, operation } = this;
    const call = operation.leaf ? this.contract.leaf(operation.leaf).value : operation.name;
    const assumed = shape ? `Assumed (${shape.assumption}): ${ASSUMPTIONS[shape.assumption]}. ` : '';
    const fix = shape?.fix ? `${describeFix(shape.fix)}\n` : '';
    const named = Object.entries(ids).map(([path, id]) => `${path} ${JSON.stringify(id)}`);
    const why = [
      `The service responded to ${call} with ${status} and ${seen}.`,
      ...(operation.safety === 'once' && fix ? [fix.trim()] : []),
      ...(named.length > 0 ? [`Ids in the response: ${named.join(', ')}`] : []),
    ];
    return {
      // The hint about a write is the caller's: what may exist comes first.
      why: why.join('\n'),
      hint: `${fix}${assumed}Run the command again with --debug to see the whole response.`,
      status,
      requestId,
      cause: shape,
      details: {
        operation: operation.name,
        assumption: shape?.assumption ?? null,
        ...(shape?.fix && { leaf: shape.fix.leaf }),
        seen,
        ...(named.length > 0 && { ids }),
      },
    };
  }

  /** A gateway may have replaced the response, so even its status proves nothing. */
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
 * Runs a reader from `contract` on an item of a list.
 * @throws ShapeError in place of the reader's UnknownShape
 */
export function readItem<Value>(operation: Operation, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof UnknownShape)) throw error;
    const { assumption, seen, fix, message } = error;
    throw new ShapeError(message, {
      why: `The service responded with a list, and an item of it is ${seen}.`,
      ...(fix && { hint: describeFix(fix) }),
      details: { operation: operation.name, assumption, ...(fix && { leaf: fix.leaf }), seen },
    });
  }
}
