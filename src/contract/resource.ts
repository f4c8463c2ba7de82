import type { Contract } from './contract.ts';
import { isResourceName, normalizeName, ownNames, type Resource } from './field-names.ts';
import { type Fields, fieldsOf } from './fields.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import type { FieldLeaf } from './leaves.ts';

/** Names under which a response to a write may nest the resource that it is about. */
const ENVELOPES = new Set(['data', 'result', 'results', 'response', 'payload', 'item', 'record', 'entity', 'content']);

/** Names that nest the resource only in an object without an id: `{code: "SUCCESS", details: {id}, status}`. */
const DETAILS = new Set(['detail', 'details']);

/** Limits the recursion. */
const MAX_DEPTH = 8;

function onlyKey(object: JsonObject): string | undefined {
  const keys = Object.keys(object).filter((key) => isJsonObject(object[key]));
  return keys.length === 1 && Object.keys(object).length === 1 ? keys[0] : undefined;
}

/**
 * Returns the objects of a response that may be the resource or an envelope of it, the outermost first.
 * @param lists whether a list of one item counts as the item
 */
export function layersOf(body: unknown, resource: Resource, lists = false, depth = 0): readonly JsonObject[] {
  if (depth > MAX_DEPTH) return [];
  if (Array.isArray(body)) return lists && body.length === 1 ? layersOf(body[0], resource, lists, depth + 1) : [];
  if (!isJsonObject(body)) return [];
  const own = ownNames(resource);
  const only = onlyKey(body);
  const hasId = Object.keys(body).some((key) => normalizeName(key).endsWith('id'));
  const isEnvelope = (name: string) => ENVELOPES.has(name) || own.includes(name) || (DETAILS.has(name) && !hasId);
  const inner = Object.keys(body).filter((key) => {
    const name = normalizeName(key);
    if (isEnvelope(name) || (lists && isEnvelope(name.replace(/s$/, '')))) return true;
    return key === only && !isResourceName(name) && !name.endsWith('id');
  });
  return [body, ...inner.flatMap((key) => layersOf(body[key], resource, lists, depth + 1))];
}

/** A resource in a response. */
export interface FoundResource {
  readonly id: string;
  readonly fields: Fields;
  /** The object with the id. */
  readonly object: JsonObject;
}

/**
 * Returns the resource in the response to a write: the object whose id has a specific name, or else the innermost object
 * with an id, because a generic id beside a nested resource is that of the envelope.
 * @param layers as `layersOf` returns them
 * @throws UnknownShape if the object has two different ids
 */
export function findResource(
  layers: readonly JsonObject[],
  resource: Resource,
  leaf: FieldLeaf,
  contract: Contract,
): FoundResource | undefined {
  const all = layers.map((object) => ({ object, fields: fieldsOf(object, resource, contract) }));
  const ownId = all.map(({ fields }) => fields.ownId(leaf)).find((id) => id !== undefined);
  const own = ownId === undefined ? undefined : all.findLast(({ fields }) => fields.ownId(leaf) === ownId);
  const found = own ?? all.findLast(({ fields }) => fields.id(leaf) !== undefined);
  const id = ownId ?? found?.fields.id(leaf);
  return found && id !== undefined ? { ...found, id } : undefined;
}

/** Returns the normalized names of what an object of a response is: as it says itself, and as it is called if it is all of it. */
export function kindsOf({ object }: FoundResource, body: unknown): readonly string[] {
  const own = ['object', 'type', 'kind', 'resource'].map((key) => object[key]);
  const only = isJsonObject(body) ? onlyKey(body) : undefined;
  const called = isJsonObject(body) && only !== undefined && body[only] === object ? only : undefined;
  return [...own, called].filter((kind) => typeof kind === 'string').map(normalizeName);
}

const OPERATION_KINDS = /^(?:(?:longrunning|async)?operation|(?:async)?task|request|command|process)s?$/;
const JOB_KINDS = /jobs?$/;

/**
 * Whether what was found is not the resource, but the operation that creates it: `{id, object: 'operation', status}`.
 * @param id the leaf of the id of the resource
 * @param own leaves of fields that an operation does not have
 */
export function isOperation(found: FoundResource, body: unknown, id: FieldLeaf, own: readonly FieldLeaf[]): boolean {
  const { fields } = found;
  const kinds = kindsOf(found, body);
  const isOther = kinds.some((kind) => OPERATION_KINDS.test(kind) || (id !== 'cron_job.id' && JOB_KINDS.test(kind)));
  return isOther && own.every((leaf) => fields.all(leaf).length === 0) && fields.ownId(id) === undefined;
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
