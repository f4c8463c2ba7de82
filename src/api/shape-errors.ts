import { readErrorBody } from '../contract/error-body.ts';
import { describeJson, findIds, JsonLimitError } from '../contract/json.ts';
import type { Operation } from '../contract/operations.ts';
import { describeFix, ErrorInBody, type UnknownShape } from '../contract/unknown-shape.ts';
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

/** The bytes of a body are not UTF-8, so that names in it cannot be compared. */
export class NotUtf8 extends Error {}

/**
 * Returns the error for a body that is not JSON. A gateway may have replaced it, so even its status proves nothing.
 * @param text the body without secrets
 * @param cause why it could not be parsed
 */
export function bodyError(cause: unknown, text: string, response: ApiResponse): PartnerctlError {
  const { operation } = response.call;
  const toError = (): ShapeError => {
    if (cause instanceof JsonLimitError)
      return new ShapeError(`The response ${cause.message}.`, responseInfo(response, 'JSON'));
    if (text.trim() !== '') {
      const said = readErrorBody(text, response.headers['content-type']).message;
      const seen = cause instanceof NotUtf8 ? 'text that is not UTF-8' : (said ?? describeJson(text));
      const info = responseInfo(response, seen);
      const wrongAddress = `Check the base URL ${response.call.baseUrl}: it probably leads to a website, and not to the API.`;
      const hint = said?.startsWith('an HTML page') ? wrongAddress : info.hint;
      return new NotJsonError('The response is not JSON.', { ...info, hint });
    }
    const info = responseInfo(response, 'an empty body');
    const none = `If the service has no such list: partnerctl contract set ${operation.leaf} none`;
    const hint = operation.leaf?.endsWith('.list') ? none : info.hint;
    return new EmptyResponseError('The response is not JSON.', { ...info, hint });
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
  if (!(shape instanceof ErrorInBody)) {
    // The id of what was created may be in this message only, perhaps under the name that was refused.
    const suspect = shape.fix?.leaf.endsWith('.id') ? shape.fix.value.split('.').at(-1) : undefined;
    const ids = operation.safety === 'safe' ? {} : findIds(value, suspect);
    return toIndeterminate(new ShapeError(shape.message, responseInfo(response, shape.seen, shape, ids)), operation);
  }
  const { message, fields, code } = readErrorBody(text, 'application/json');
  const info = responseInfo(response, shape.seen, shape);
  const why = [...new Set([message, ...fields.map((field) => field.message), info.why])].filter(Boolean).join('\n');
  return toIndeterminate(new ErrorInSuccessBody(shape.message, { ...info, why, code }), operation);
}

/** Returns the error for an item of a list that cannot be read. */
export function itemError({ seen, fix, message }: UnknownShape, operation: Operation): ShapeError {
  return new ShapeError(message, {
    why: `The service responded to ${operation.leaf} with a list, and an item of it is ${seen}.`,
    ...(fix && { hint: describeFix(fix) }),
    details: { operation: operation.name, ...(fix && { leaf: fix.leaf }), seen },
  });
}

/**
 * @param seen a readable description of the body
 * @param ids what may be the id of what was created, by path
 */
function responseInfo(
  { call, status, requestId }: ApiResponse,
  seen: string,
  shape?: UnknownShape,
  ids: Readonly<Record<string, string>> = {},
): ErrorInfo {
  const { operation, name } = call;
  const fix = shape?.fix && describeFix(shape.fix);
  const named = Object.entries(ids).map(([path, id]) => `${path} ${JSON.stringify(id)}`);
  const why = [
    `The service responded to ${name} with ${status} and ${seen}.`,
    // The hint about a write is the caller's: what may exist comes first.
    operation.safety === 'once' ? fix : undefined,
    named.length > 0 ? `Ids in the response: ${named.join(', ')}` : undefined,
  ];
  return {
    why: why.filter(Boolean).join('\n'),
    hint: [fix, 'Run the command again with --debug to see the whole response.'].filter(Boolean).join('\n'),
    status,
    requestId,
    cause: shape,
    details: {
      operation: operation.name,
      ...(shape?.fix && { leaf: shape.fix.leaf }),
      seen,
      ...(named.length > 0 && { ids }),
    },
  };
}
