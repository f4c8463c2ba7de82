import type { Operation } from '../contract/operations.ts';
import { type Kind, RESOURCES } from '../contract/resources.ts';
import { type FieldProblem, invalidInput, Problem } from '../problem.ts';
import { arrange, bodyFacts, listBody, listItem, singleBody } from './arrange.ts';
import { type ErrorFacts, errorFormat } from './errors.ts';
import { isFields, type Json, type JsonFields } from './json.ts';
import { VALUES } from './maker.ts';
import { choosePage, factsOf, type PageRequest, toToken } from './paging.ts';
import { parameterNames, requestName } from './requests.ts';
import type { Shape } from './shape.ts';

/** A response before it is sent. */
export interface Answer {
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

/** The messages that a history shows after the cursor. @throws Problem 422 for an unknown cursor, 404 for no messages */
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
    const fields = [{ path: name, message: 'is no message of this session' }];
    throw new Problem(422, 'unknown_cursor', `The ${name} is no message of this session.`, { fields });
  }
  const start = cursor === undefined || isPageCursor ? 0 : index + (isInclusive ? 0 : 1);
  const shown = messages.slice(start);
  return isNewestFirst ? shown.reverse() : shown;
}

/** The page of a list that the request asks for. @throws Problem for a page that does not exist */
export function answerList(shape: Shape, operation: Operation, results: readonly Json[], request: PageRequest): Answer {
  const { kind } = operation;
  const all = kind === 'message' ? afterCursor(shape, operation, results, request) : results;
  const { paging } = shape;
  const ids = all.map((item) => idOf(kind, item));
  const whole = { start: 0, size: all.length, total: all.length, lastId: ids.at(-1) };
  const state = paging ? choosePage(paging, request, ids) : whole;
  const shown = all.slice(state.start, state.start + state.size);
  const items = shown.map((resource, index) => {
    const item = arrange(shape, kind, resource, VALUES);
    return listItem(shape, kind, { item, cursor: toToken(state.start + index + 1) }, VALUES);
  });
  const facts = paging && factsOf(paging, request, state);
  const headers = Object.entries(paging?.headers ?? {}).flatMap(([name, fact]) => {
    const value = facts?.[fact];
    return value === undefined || value === null ? [] : [[name, String(value)]];
  });
  const body = {
    items: items.length === 0 && shape.emptyList === 'null' ? null : items,
    facts: bodyFacts(shape, kind).map(([path, fact]) => [path, facts?.[fact]] as const),
  };
  return {
    status: paging?.isPartial && shown.length < all.length ? 206 : 200,
    body: listBody(shape, kind, body, VALUES),
    mediaType: JSON_TYPE,
    headers: Object.fromEntries(headers),
  };
}

/** Where a created resource is. */
function locationOf({ kind, path }: Operation, requestPath: string, resource: JsonFields): string {
  if (kind === 'provisioning') return `/v1/automation/spaces/${idOf('space', resource.space ?? null)}/`;
  return `${requestPath.endsWith('/') ? requestPath : `${requestPath}/`}${idOf(kind, resource)}${path.endsWith('/') ? '/' : ''}`;
}

/** Whether a success of the operation is answered as the shape answers writes. */
export function writeTrait({ writes }: Shape, { method, kind }: Operation): Shape['writes'] {
  return method === 'POST' && (writes?.kinds?.includes(kind) ?? true) ? writes : undefined;
}

/** The status of a success. Without a body, only 200 tells that nothing was created. */
export function writeStatus({ status, isLocationOnly }: NonNullable<Shape['writes']>, plain: number): number {
  return isLocationOnly && plain === 200 ? plain : status;
}

/** One resource. @param path of the request */
export function answerOne(
  shape: Shape,
  operation: Operation,
  { status, resource }: { status: number; resource: JsonFields },
  path: string,
): Answer {
  const writes = writeTrait(shape, operation);
  if (writes?.isLocationOnly) {
    const headers = { Location: locationOf(operation, path, resource) };
    return { status: writeStatus(writes, status), body: undefined, mediaType: JSON_TYPE, headers };
  }
  const arranged = arrange(shape, operation.kind, resource, VALUES);
  const body = singleBody(shape, operation.kind, arranged, VALUES);
  return { status: writes ? writeStatus(writes, status) : status, body, mediaType: JSON_TYPE, headers: {} };
}

/** The statuses of mistakes in a request, which some shapes answer with 200. */
export const MISTAKES: readonly number[] = [400, 404, 409, 413, 415, 422];

/** An error in the words of the shape. */
export function answerError(shape: Shape, facts: ErrorFacts): Answer {
  const { body, mediaType = JSON_TYPE } = errorFormat(shape.errors ?? 'own');
  const status = shape.isErrorOk && MISTAKES.includes(facts.status) ? 200 : facts.status;
  return { status, body: body(facts), mediaType, headers: {} };
}

/** The facts of an error that the edge of the service found. */
export function toErrorFacts({ status, code, message, details }: Problem, request_id: string): ErrorFacts {
  return { status, code, message, request_id, fields: details.fields ?? [] };
}

function renamePath(shape: Shape, operation: Operation, path: string): string {
  const parameter = parameterNames(shape, operation).get(path);
  return parameter ?? path.replace(/[a-z_]+/g, (name) => requestName(shape, name));
}

/** The facts of an error that the service answered with in its own shape; undefined for another body. */
export function readError(
  shape: Shape,
  operation: Operation | undefined,
  { status, body, isRefused = false }: { status: number; body: Json; isRefused?: boolean | undefined },
): ErrorFacts | undefined {
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
