import type { Contract } from './contract.ts';
import { normalizeName, ownNames, type Resource } from './field-names.ts';
import { type Fields, fieldsOf } from './fields.ts';
import { describeFields, isJsonObject, type JsonObject } from './json.ts';
import type { FieldLeaf } from './leaves.ts';
import { UnknownShape } from './unknown-shape.ts';

/** Names under which a response to a write may nest the resource that it is about, beside its own name. */
const ENVELOPES = ['data', 'result', 'results', 'response', 'payload', 'item', 'items', 'details', 'd'];

/** Envelopes may be nested in each other. */
const MAX_DEPTH = 4;

/**
 * Returns the objects of a response to a write that may be the resource or an envelope of it, the outermost first. A list of
 * one item counts as the item.
 */
export function layersOf(body: unknown, resource: Resource, depth = 0): readonly JsonObject[] {
  if (depth > MAX_DEPTH) return [];
  if (Array.isArray(body)) return body.length === 1 ? layersOf(body[0], resource, depth + 1) : [];
  if (!isJsonObject(body)) return [];
  const own = ownNames(resource);
  const envelopes = Object.keys(body).filter((key) => {
    const name = normalizeName(key);
    return ENVELOPES.includes(name) || own.includes(name) || own.includes(name.replace(/s$/, ''));
  });
  return [body, ...envelopes.flatMap((key) => layersOf(body[key], resource, depth + 1))];
}

/** The resource in the response to a write. */
export interface FoundResource {
  readonly id: string;
  readonly fields: Fields;
  /** The object with the id. */
  readonly object: JsonObject;
}

const KIND_KEYS = ['object', 'type', 'kind', 'resource'];
const OPERATION = /^(?:(?:longrunning|async)?operation|(?:async)?task|request|command|process)s?$/;

/** Whether an object says that it is the operation that creates the resource: `{id, object: 'operation', status}`. */
function isOperation(object: JsonObject): boolean {
  return KIND_KEYS.some((key) => typeof object[key] === 'string' && OPERATION.test(normalizeName(object[key])));
}

/**
 * Returns the resource in the response to a write: what has an id of its own name, or else a generic id.
 * @param layers as `layersOf` returns them
 * @returns undefined if no object has an id
 * @throws UnknownShape for two different ids, and for the id of an operation
 */
export function findResource(
  layers: readonly JsonObject[],
  resource: Resource,
  leaf: FieldLeaf,
  contract: Contract,
): FoundResource | undefined {
  const all = layers.map((object) => ({ object, fields: fieldsOf(object, resource, contract) }));
  const withId = (idOf: (fields: Fields) => string | undefined): readonly FoundResource[] =>
    all.flatMap(({ object, fields }) => {
      const id = idOf(fields);
      return id === undefined ? [] : [{ id, object, fields }];
    });
  const own = withId((fields) => fields.ownId(leaf));
  const found = own.length > 0 ? own : withId((fields) => fields.id(leaf));
  const last = found.at(-1);
  const other = found.find(({ id }) => id !== last?.id);
  if (last === undefined) return undefined;
  if (other) {
    const message = `The response has two different ids: ${JSON.stringify(other.id)} and ${JSON.stringify(last.id)}.`;
    throw new UnknownShape('id.field', message, layers.map(describeFields).join(', with '));
  }
  if (own.length === 0 && isOperation(last.object)) {
    throw last.fields.unreadable(leaf, 'The response contains the id of an operation, not of what it creates.');
  }
  return last;
}

/** Returns the first boolean, also as text, under one of these normalized names. */
function findFlag(layers: readonly JsonObject[], names: readonly string[]): boolean | undefined {
  for (const layer of layers) {
    for (const [key, value] of Object.entries(layer)) {
      if (!names.includes(normalizeName(key))) continue;
      if (value === true || value === 'true') return true;
      if (value === false || value === 'false') return false;
    }
  }
  return undefined;
}

/** Whether a response says that the resource is new; undefined if it does not say. */
export function findCreated(layers: readonly JsonObject[]): boolean | undefined {
  const created = findFlag(layers, ['created', 'iscreated', 'wascreated', 'isnew', 'new']);
  const existed = findFlag(layers, ['reused', 'isreused', 'existing', 'existed', 'alreadyexists', 'alreadyexisted']);
  return created ?? (existed === undefined ? undefined : !existed);
}
