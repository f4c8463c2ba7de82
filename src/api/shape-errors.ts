import { isUtf8 } from 'node:buffer';
import { readErrorBody } from '../contract/error-body.ts';
import { describeJson, findIds, JsonLimitError } from '../contract/json.ts';
import type { Operation } from '../contract/operations.ts';
import { describeFix, ErrorInBody, UnknownShape } from '../contract/unknown-shape.ts';
import {
  EmptyResponseError,
  type ErrorInfo,
  ErrorInSuccessBody,
  NotJsonError,
  type PartnerctlError,
  ShapeError,
} from '../errors.ts';
import type { ApiResponse } from './api-response.ts';
import { toIndeterminate } from './call-errors.ts';

const DEBUG_HINT = 'Run the command again with --debug to see the whole response.';

/**
 * Returns the error for a body that is not JSON. A gateway may have replaced it, so even its status proves nothing.
 * @param text the body without secrets
 * @param cause why it could not be parsed
 */
export function bodyError(cause: unknown, text: string, response: ApiResponse): PartnerctlError {
  const { operation, baseUrl } = response.call;
  const toError = (): ShapeError => {
    if (cause instanceof JsonLimitError)
      return new ShapeError(`The response ${cause.message}.`, infoOf(response, 'JSON', DEBUG_HINT));
    if (text.trim() === '') {
      const none = `If the service has no such list: partnerctl contract set ${operation.leaf} none`;
      const hint = operation.leaf?.endsWith('.list') ? none : DEBUG_HINT;
      return new EmptyResponseError('The response is not JSON.', infoOf(response, 'an empty body', hint));
    }
    const said = readErrorBody(text, response.headers['content-type']).message ?? describeJson(text);
    const seen = isUtf8(response.bytes) ? said : 'text that is not UTF-8';
    const hint = `Check the base URL ${baseUrl}. ${DEBUG_HINT}`;
    return new NotJsonError('The response is not JSON.', infoOf(response, seen, hint));
  };
  return toIndeterminate(toError(), operation);
}

/**
 * Returns the error for a body in which a reader does not find what it needs, or finds the report of an error.
 * @param text the body without secrets
 */
export function shapeError(
  shape: UnknownShape,
  { value, text }: { readonly value: unknown; readonly text: string },
  response: ApiResponse,
): PartnerctlError {
  const { operation } = response.call;
  if (shape instanceof ErrorInBody) {
    const { message, fields, code } = readErrorBody(text, 'application/json');
    const info = infoOf(response, shape.seen, DEBUG_HINT);
    const why = [message, ...fields.map((field) => field.message), info.why].filter(Boolean).join('\n');
    return toIndeterminate(new ErrorInSuccessBody(shape.message, { ...info, why, code, cause: shape }), operation);
  }
  const fix = shape.fix && describeFix(shape.fix);
  // The id of what was created may be in this message only, perhaps under the name that was refused.
  const suspect = shape.fix?.leaf.endsWith('.id') ? shape.fix.value.split('.').at(-1) : undefined;
  const ids = operation.safety === 'safe' ? {} : findIds(value, suspect);
  const named = Object.entries(ids).map(([path, id]) => `${path} ${JSON.stringify(id)}`);
  const hint = [fix, DEBUG_HINT].filter(Boolean).join('\n');
  const { why, details, ...info } = infoOf(response, shape.seen, hint);
  const error = new ShapeError(shape.message, {
    ...info,
    // The hint about a `once` call is the caller's: what may exist comes first.
    why: [why, operation.safety === 'once' ? fix : '', named.length > 0 && `Ids in the response: ${named.join(', ')}`]
      .filter(Boolean)
      .join('\n'),
    details: { ...details, ...(shape.fix && { leaf: shape.fix.leaf }), ...(named.length > 0 && { ids }) },
    cause: shape,
  });
  return toIndeterminate(error, operation);
}

/** Returns the error for an item of a list that cannot be read. */
export function itemError({ seen, fix, message }: UnknownShape, operation: Operation): ShapeError {
  return new ShapeError(message, {
    why: `The service responded to ${operation.leaf} with a list, and an item of it is ${seen}.`,
    ...(fix && { hint: describeFix(fix) }),
    details: { operation: operation.name, ...(fix && { leaf: fix.leaf }), seen },
  });
}

/** Runs a reader from `contract` on items of a list. @throws ShapeError in place of the reader's UnknownShape */
export function readItem<Value>(operation: Operation, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw error instanceof UnknownShape ? itemError(error, operation) : error;
  }
}

/** @param seen a readable description of the body */
function infoOf({ call, status, requestId }: ApiResponse, seen: string, hint: string) {
  return {
    why: `The service responded to ${call.name} with ${status} and ${seen}.`,
    hint,
    status,
    requestId,
    details: { operation: call.operation.name, seen },
  } satisfies ErrorInfo;
}
