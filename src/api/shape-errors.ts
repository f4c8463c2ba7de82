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

type Answer = Pick<ApiResponse, 'call' | 'status' | 'requestId' | 'headers'>;

/**
 * Returns the error for a body that is not JSON. A gateway may have replaced it, so even its status proves nothing.
 * @param text the body without secrets
 * @param cause why it could not be parsed
 */
export function bodyError(cause: unknown, text: string, response: Answer): PartnerctlError {
  const { operation } = response.call;
  if (cause instanceof JsonLimitError) {
    const error = new ShapeError(`The response ${cause.message}.`, responseInfo(response, { seen: 'JSON' }));
    return toIndeterminate(error, operation);
  }
  const message = 'The response is not JSON.';
  if (text.trim() !== '') {
    const said = readErrorBody(text, response.headers['content-type']).message;
    const seen = cause instanceof NotUtf8 ? 'text that is not UTF-8' : (said ?? describeJson(text));
    return toIndeterminate(new NotJsonError(message, responseInfo(response, { seen })), operation);
  }
  const info = responseInfo(response, { seen: 'an empty body' });
  const none = `If the service has no such list: partnerctl contract set ${operation.leaf} none`;
  const hint = operation.leaf?.endsWith('.list') ? none : info.hint;
  return toIndeterminate(new EmptyResponseError(message, { ...info, hint }), operation);
}

/**
 * Returns the error for a body in which a reader does not find what it needs, or finds the report of an error.
 * @param text the body without secrets
 */
export function shapeError(
  shape: UnknownShape,
  { value, text }: { readonly value: unknown; readonly text: string },
  response: Answer,
): PartnerctlError {
  const { operation, contract } = response.call;
  if (!(shape instanceof ErrorInBody)) {
    // The id of what was created may be in this message only.
    const ids = operation.safety === 'safe' ? {} : findIds(value, suspectedId(shape));
    const info = responseInfo(response, { seen: shape.seen, shape, ids });
    return toIndeterminate(new ShapeError(shape.message, info), operation);
  }
  const { message, fields, code } = readErrorBody(text, 'application/json', contract);
  const info = responseInfo(response, { seen: shape.seen, shape });
  const why = [...new Set([message, ...fields.map((field) => field.message), info.why])];
  const error = new ErrorInSuccessBody(shape.message, {
    ...info,
    why: why.filter((each) => each !== undefined).join('\n'),
    ...(code !== undefined && { code }),
  });
  return toIndeterminate(error, operation);
}

/** Returns the name of a field that probably holds the id that cannot be read. */
function suspectedId({ fix }: UnknownShape): string | undefined {
  return fix?.leaf.endsWith('.id') ? fix.value.split('.').at(-1) : undefined;
}

/** Returns the error for an item of a list that cannot be read. */
export function itemError({ seen, fix, message }: UnknownShape, operation: Operation): ShapeError {
  return new ShapeError(message, {
    why: `The service responded to ${operation.leaf} with a list, and an item of it is ${seen}.`,
    ...(fix && { hint: describeFix(fix) }),
    details: { operation: operation.name, ...(fix && { leaf: fix.leaf }), seen },
  });
}

interface Seen {
  /** A readable description of the body. */
  readonly seen: string;
  readonly shape?: UnknownShape;
  /** What may be the id of what was created. */
  readonly ids?: Readonly<Record<string, string>>;
}

function responseInfo({ call, status, requestId }: Answer, { seen, shape, ids = {} }: Seen): ErrorInfo {
  const { operation, name } = call;
  const fix = shape?.fix ? describeFix(shape.fix) : undefined;
  const named = Object.entries(ids).map(([path, id]) => `${path} ${JSON.stringify(id)}`);
  const why = [
    `The service responded to ${name} with ${status} and ${seen}.`,
    // The hint about a write is the caller's: what may exist comes first.
    ...(operation.safety === 'once' && fix !== undefined ? [fix] : []),
    ...(named.length > 0 ? [`Ids in the response: ${named.join(', ')}`] : []),
  ];
  return {
    why: why.join('\n'),
    hint: `${fix === undefined ? '' : `${fix}\n`}Run the command again with --debug to see the whole response.`,
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
