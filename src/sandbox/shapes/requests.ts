import type { Operation } from '../contract/operations.ts';
import type { Schema } from '../contract/schema.ts';
import { type FieldProblem, invalidInput } from '../problem.ts';
import { expandPath } from './arrange.ts';
import { isFields } from './json.ts';
import { place, renameProperties, SCHEMAS } from './maker.ts';
import { toCase } from './names.ts';
import type { Shape } from './shape.ts';

/** The name of a field in the requests of a shape. */
export function requestName({ request = {} }: Shape, field: string): string {
  return toCase(request.fields?.[field] ?? field, request.case ?? 'snake');
}

/** The names of an operation's query parameters in the shape, by their plain names. */
export function parameterNames(shape: Shape, { id, query = [] }: Operation): ReadonlyMap<string, string> {
  const { source, session, after } = shape.history ?? {};
  const own: Readonly<Record<string, string | undefined>> =
    id === 'readHistory' ? { source_id: source, session_id: session, after_message_id: after } : {};
  return new Map(query.map(({ name }) => [name, own[name] ?? requestName(shape, name)]));
}

/** The method of an operation in the shape. */
export function methodOf(shape: Shape, operation: Operation): 'GET' | 'POST' {
  return operation.id === 'readHistory' ? (shape.history?.method ?? 'GET') : operation.method;
}

/** The path of an operation in the shape, relative to the base URL. */
export function pathOf(shape: Shape, { path }: Operation): string {
  return shape.redirect?.slash === 'drop' ? path.replace(/\/$/, '') : path;
}

function bodyPath(shape: Shape, { bodyName = '', kind }: Operation): string {
  const at = shape.request?.at ?? '';
  return expandPath(shape, kind, at.replaceAll('{singular}', requestName(shape, bodyName)));
}

/** The schema of a JSON body in the shape. */
export function requestSchema(shape: Shape, operation: Operation, body: Schema): Schema {
  const named = renameProperties(body, (field) => requestName(shape, field));
  return place(SCHEMAS, [[bodyPath(shape, operation), named]]);
}

/** What `decodeNames` passes down. */
interface Decoding {
  readonly shape: Shape;
  readonly unknown: FieldProblem[];
}

function decodeNames(schema: Schema, value: unknown, path: string, decoding: Decoding): unknown {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items ? value.map((item, index) => decodeNames(items, item, `${path}[${index}]`, decoding)) : value;
  }
  if (!isFields(value) || !schema.properties) return value;
  const fields = new Map(
    Object.entries(schema.properties).map((entry) => [requestName(decoding.shape, entry[0]), entry]),
  );
  const decoded: [string, unknown][] = [];
  for (const [key, child] of Object.entries(value)) {
    const childPath = path === '' ? key : `${path}.${key}`;
    const field = fields.get(key);
    if (field) decoded.push([field[0], decodeNames(field[1], child, childPath, decoding)]);
    else decoding.unknown.push({ path: childPath, message: 'is not a known field' });
  }
  return Object.fromEntries(decoded);
}

/**
 * Converts a JSON body from the shape to the plain names.
 * @throws Problem 422 for an unknown field, or if the fields are not at the path of the shape
 */
export function decodeBody(shape: Shape, operation: Operation, body: Schema, value: unknown): unknown {
  const at = bodyPath(shape, operation);
  let fields: unknown = value;
  for (const segment of at.split('/').filter(Boolean)) {
    fields = isFields(fields) ? fields[segment] : undefined;
    if (fields === undefined) throw invalidInput([{ path: at.replaceAll('/', '.'), message: 'is required' }]);
  }
  const decoding: Decoding = { shape, unknown: [] };
  const decoded = decodeNames(body, fields, '', decoding);
  if (decoding.unknown.length > 0) throw invalidInput(decoding.unknown);
  return decoded;
}
