import type { Contract } from './contract.ts';
import {
  byNormalName,
  type CreatedResource,
  normalizeName,
  ownNames,
  RESOURCE_OF,
  type Resource,
} from './field-names.ts';
import { type Fields, fieldsOf } from './fields.ts';
import { describeFields, describeJson, isJsonObject, type JsonObject } from './json.ts';
import type { OperationLeaf } from './leaves.ts';
import { rejectErrorInBody, UnknownShape } from './unknown-shape.ts';

/** Names under which a response to a write may nest the resource that it is about, beside its own name. */
const ENVELOPES = ['data', 'result', 'results', 'response', 'payload', 'item', 'items', 'details', 'd'];

const MAX_DEPTH = 4;

/** Returns the resource in a response to a write and its envelopes, the outermost first. A list of one is its item. */
export function layersOf(body: unknown, resource: Resource, depth = 0): readonly JsonObject[] {
  if (depth > MAX_DEPTH) return [];
  if (Array.isArray(body)) return body.length === 1 ? layersOf(body[0], resource, depth + 1) : [];
  if (!isJsonObject(body)) return [];
  const names = [...ENVELOPES, ...ownNames(resource).flatMap((name) => [name, `${name}s`])];
  const envelopes = Object.keys(body).filter((key) => names.includes(normalizeName(key)));
  return [body, ...envelopes.flatMap((key) => layersOf(body[key], resource, depth + 1))];
}

const OPERATION = /^(?:(?:longrunning|async)?operation|(?:async)?task|request|command)s?$/;

/** Whether an object says that it is the operation that creates the resource: `{id, object: 'operation', status}`. */
function isOperation(object: JsonObject): boolean {
  const kinds = [object.object, object.type, object.kind, object.resource];
  return kinds.some((kind) => typeof kind === 'string' && OPERATION.test(normalizeName(kind)));
}

/** Finds what has an id of its own name, or else a generic id. @throws UnknownShape for two, or that of an operation */
function findResource(layers: readonly JsonObject[], resource: CreatedResource, contract: Contract) {
  const leaf = `${resource}.id` as const;
  const withId = (idOf: (fields: Fields) => string | undefined) =>
    layers.flatMap((object) => {
      const fields = fieldsOf(object, resource, contract);
      const id = idOf(fields);
      return id === undefined ? [] : [{ object, fields, id }];
    });
  const own = withId((fields) => fields.ownId(leaf));
  const found = own.length > 0 ? own : withId((fields) => fields.id(leaf));
  const last = found.at(-1);
  if (last === undefined) return undefined;
  const other = found.find(({ id }) => id !== last.id);
  if (other) {
    const message = `The response has two different ids: ${JSON.stringify(other.id)} and ${JSON.stringify(last.id)}.`;
    throw new UnknownShape(message, layers.map(describeFields).join(', with '));
  }
  if (own.length === 0 && isOperation(last.object))
    throw last.fields.unreadable(leaf, 'The response contains the id of an operation, not of what it creates.');
  return last;
}

/**
 * Reads the resource in the response to a write, in any common envelope.
 * @returns its id; the object with it, and its fields; whether it is new, as far as the service says; and the objects
 *   that may hold further parts of the response, the outermost first
 * @param contracts the first one under which the response has an id counts
 * @throws UnknownShape for no id, two different ones, or that of an operation; ErrorInBody if it reports an error
 */
export function readCreated(
  body: unknown,
  resource: CreatedResource,
  ...contracts: readonly [Contract, ...Contract[]]
) {
  const layers = layersOf(body, resource);
  rejectErrorInBody(body, layers);
  for (const contract of contracts) {
    const found = findResource(layers, resource, contract);
    if (found) return { ...found, created: findCreated([...layers, ...found.fields.objects]), layers };
  }
  const message = `The response contains no ${resource}_id.`;
  const [outermost] = layers;
  if (outermost === undefined) throw new UnknownShape(message, describeJson(body));
  throw fieldsOf(outermost, resource, contracts[0]).unreadable(`${resource}.id`, message);
}

/**
 * Reads the Location header of a response to a write without a body: its last segment is the id of the new resource.
 * @param url of the request: the location must have the same origin
 * @returns a body with the id; undefined if the location is not that of such a resource
 */
export function bodyOfLocation(
  location: string | undefined,
  operation: OperationLeaf,
  url: string,
): { readonly [id: string]: string } | undefined {
  if (location === undefined || operation.endsWith('.list') || !URL.canParse(location, url)) return undefined;
  const target = new URL(location, url);
  const [parent = '', last = ''] = target.pathname.replace(/\/$/, '').split('/').slice(-2);
  const collection = normalizeName(parent).replace(/s$/, '');
  const resource = RESOURCE_OF[operation];
  const isOwn = ownNames(resource).some((name) => collection.endsWith(name));
  const isPlain = /^[^%]+$/.test(last);
  return target.origin === new URL(url).origin && isOwn && isPlain ? { [`${resource}_id`]: last } : undefined;
}

/** Whether a response says that the resource is new; undefined if it does not say. */
function findCreated(layers: readonly JsonObject[]): boolean | undefined {
  const flags = layers.flatMap((layer) =>
    ['created', 'iscreated', 'isnew'].map((name) => byNormalName(layer).get(name)),
  );
  return flags.find((flag) => typeof flag === 'boolean');
}
