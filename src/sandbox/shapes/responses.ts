import type { Operation } from '../contract/operations.ts';
import { type Kind, RESOURCES } from '../contract/resources.ts';
import { type FieldProblem, invalidInput, Problem } from '../problem.ts';
import { arrange, bodyPageFields, listBody, listItem, singleBody } from './arrange.ts';
import { type ErrorDetails, errorFormat } from './errors.ts';
import { isFields, type Json, type JsonFields } from './json.ts';
import { VALUES } from './maker.ts';
import { choosePage, type PageRequest, pageFields, toToken } from './paging.ts';
import { parameterNames, requestName } from './requests.ts';
import type { Shape } from './shape.ts';

/** A response before it is sent. */
export interface ShapedResponse {
  readonly status: number;
  /** Undefined for none. */
  readonly body: Json | undefined;
  readonly mediaType: string;
  readonly headers: Readonly<Record<string, string>>;
}

const JSON_TYPE = 'application/json';

function idOf(kind: Kind, resource: Json): string {
  const value = isFields(resource) ? resource[RESOURCES[kind].id ?? ''] : undefined;
  return typeof value === 'string' ? value : '';
}

/** The messages of a history after the cursor. @throws Problem 422 for an unknown cursor, 404 for no messages */
function afterCursor(
  shape: Shape,
  operation: Operation,
  messages: readonly Json[],
  request: PageRequest,
): readonly Json[] {
  const { isInclusive, isNewestFirst, isEmptyNotFound } = shape.history ?? {};
  if (isEmptyNotFound && messages.length === 0) {
    throw new Problem(404, 'session_not_found', 'There is no such session.');
  }
  const name = parameterNames(shape, operation).get('after_message_id') ?? '';
  const cursor = request.parameters.get(name);
  const isPageCursor = shape.paging?.parameter === name;
  const index = messages.findIndex((message) => idOf('message', message) === cursor);
  if (cursor !== undefined && index === -1 && !isPageCursor) {
    const fields = [{ path: name, message: 'is not a message of this session' }];
    throw new Problem(422, 'unknown_cursor', `The ${name} is not a message of this session.`, { fields });
  }
  const start = cursor === undefined || isPageCursor ? 0 : index + (isInclusive ? 0 : 1);
  const shown = messages.slice(start);
  return isNewestFirst ? shown.reverse() : shown;
}

/** The response to a list request: one page. @throws Problem 422 for a page that does not exist, 404 for an empty history */
export function listResponse(
  shape: Shape,
  operation: Operation,
  results: readonly Json[],
  request: PageRequest,
): ShapedResponse {
  const { kind } = operation;
  const all = kind === 'message' ? afterCursor(shape, operation, results, request) : results;
  const { paging } = shape;
  const ids = all.map((item) => idOf(kind, item));
  const unpaged = { start: 0, size: all.length, total: all.length, lastId: ids.at(-1) };
  const state = paging ? choosePage(paging, request, ids) : unpaged;
  const shown = all.slice(state.start, state.start + state.size);
  const items = shown.map((resource, index) => {
    const item = arrange(shape, kind, resource, VALUES);
    return listItem(shape, kind, { item, cursor: toToken(state.start + index + 1) }, VALUES);
  });
  const fields = paging && pageFields(paging, request, state);
  const headers = Object.entries(paging?.headers ?? {}).flatMap(([name, field]) => {
    const value = fields?.[field];
    return value === undefined || value === null ? [] : [[name, String(value)]];
  });
  const body = {
    items: items.length === 0 && shape.emptyList === 'null' ? null : items,
    pageFields: bodyPageFields(shape, kind).map(([path, field]) => [path, fields?.[field]] as const),
  };
  return {
    status: paging?.isPartial && shown.length < all.length ? 206 : 200,
    body: listBody(shape, kind, body, VALUES),
    mediaType: JSON_TYPE,
    headers: Object.fromEntries(headers),
  };
}

/** The Location of a created resource. */
function locationOf({ kind, path }: Operation, requestPath: string, resource: JsonFields): string {
  if (kind === 'provisioning') return `/v1/automation/spaces/${idOf('space', resource.space ?? null)}/`;
  return `${requestPath.endsWith('/') ? requestPath : `${requestPath}/`}${idOf(kind, resource)}${path.endsWith('/') ? '/' : ''}`;
}

/** How the shape responds to a successful write; undefined for a read, or if the shape changes nothing. */
export function writeTrait({ writes }: Shape, { method, kind }: Operation): Shape['writes'] {
  return method === 'POST' && (writes?.kinds?.includes(kind) ?? true) ? writes : undefined;
}

/** The status of a successful write. Without a body, only 200 says that nothing was created. */
export function writeStatus({ status, isLocationOnly }: NonNullable<Shape['writes']>, plain: number): number {
  return isLocationOnly && plain === 200 ? plain : status;
}

/** The response with one resource. @param path of the request */
export function resourceResponse(
  shape: Shape,
  operation: Operation,
  { status, resource }: { status: number; resource: JsonFields },
  path: string,
): ShapedResponse {
  const writes = writeTrait(shape, operation);
  if (writes?.isLocationOnly) {
    const headers = { Location: locationOf(operation, path, resource) };
    return { status: writeStatus(writes, status), body: undefined, mediaType: JSON_TYPE, headers };
  }
  const arranged = arrange(shape, operation.kind, resource, VALUES);
  const body = singleBody(shape, operation.kind, arranged, VALUES);
  return { status: writes ? writeStatus(writes, status) : status, body, mediaType: JSON_TYPE, headers: {} };
}

/** The statuses of invalid requests, which some shapes send as 200. */
export const REQUEST_ERROR_STATUSES: readonly number[] = [400, 404, 409, 413, 415, 422];

/** The response with an error. */
export function errorResponse(shape: Shape, details: ErrorDetails): ShapedResponse {
  const { body, mediaType = JSON_TYPE } = errorFormat(shape.errors ?? 'own');
  const status = shape.errorsAreOk && REQUEST_ERROR_STATUSES.includes(details.status) ? 200 : details.status;
  return { status, body: body(details), mediaType, headers: {} };
}

/** The details of an error that the edge of the service found. */
export function toErrorDetails({ status, code, message, details }: Problem, request_id: string): ErrorDetails {
  return { status, code, message, request_id, fields: details.fields ?? [] };
}

function renamePath(shape: Shape, operation: Operation, path: string): string {
  const parameter = parameterNames(shape, operation).get(path);
  return parameter ?? path.replace(/[a-z_]+/g, (name) => requestName(shape, name));
}

/** Reads an error in the plain shape; undefined for another body. */
export function readError(
  shape: Shape,
  operation: Operation | undefined,
  { status, body, isRefused = false }: { status: number; body: Json; isRefused?: boolean | undefined },
): ErrorDetails | undefined {
  const error = isFields(body) ? body.error : undefined;
  if (!isFields(error)) return undefined;
  const { code, message, request_id } = error;
  const listed = Array.isArray(error.fields) ? error.fields : [];
  const fields: FieldProblem[] = listed.filter(isFields).map(({ path, message }) => ({
    path: operation && !isRefused ? renamePath(shape, operation, String(path)) : String(path),
    message: String(message),
  }));
  const isInvalid = code === 'invalid_input' && fields.length > 0;
  return {
    status,
    code: String(code),
    message: isInvalid ? invalidInput(fields).message : String(message),
    request_id: String(request_id),
    fields,
  };
}
