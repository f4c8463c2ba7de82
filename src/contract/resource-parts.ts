import { normalizeName } from './field-names.ts';
import { isJsonObject, type JsonObject } from './json.ts';

/** Normalized names of ids that any resource may have. Beside a nested resource, they are those of its envelope. */
export const GENERIC_IDS = new Set([
  'id',
  '$id',
  'uuid',
  'uid',
  'guid',
  'pk',
  'gid',
  'sid',
  'objectid',
  'sysid',
  'identifier',
  'documentid',
]);

/** Whether a field distinguishes a resource from an envelope, unlike ids and the usual fields of envelopes. */
export function isDistinctive(name: string): boolean {
  return !GENERIC_IDS.has(name) && !['type', 'kind', 'data', 'payload', 'date', 'time'].includes(name);
}

/** Whether a field may be beside the object that has all others: an id, a type, a version. */
export function isEnvelopeField(key: string): boolean {
  const name = normalizeName(key);
  return (
    GENERIC_IDS.has(name) ||
    ['type', 'kind', 'object', 'etag', 'version', 'url', 'href', 'self', 'links'].includes(name)
  );
}

/** Whether an object under this name may have fields that the resource itself lacks. */
export function isSupplement(key: string): boolean {
  return ['profile', 'info'].includes(normalizeName(key));
}

/** Returns the only object beside a block of links: `{links: […], content: {…}}`. */
export function objectBesideLinks(object: JsonObject): JsonObject | undefined {
  const keys = Object.keys(object);
  if (keys.length !== 2 || !('links' in object || '_links' in object)) return undefined;
  const key = keys.find((each) => each !== 'links' && each !== '_links');
  const value = key === undefined ? undefined : object[key];
  return isJsonObject(value) ? value : undefined;
}

/**
 * Returns the keys of objects that together are the resource, as on well-known platforms: `sys` and `fields`, `metadata` and
 * `spec`, or `_source` beside an `_id`. Alone, each of these names may mean anything.
 */
export function pairedParts(object: JsonObject): readonly string[] {
  if (isJsonObject(object._source) && object._id !== undefined) return ['_source'];
  if (isJsonObject(object.sys) && isJsonObject(object.fields)) return ['sys'];
  if (isJsonObject(object.metadata) && isJsonObject(object.entity)) return ['metadata', 'entity'];
  return isJsonObject(object.metadata) && isJsonObject(object.spec) ? ['metadata', 'spec'] : [];
}

/** Returns the id of a pair of an id and a label, as Odoo sends relations: `agent_id: [41, 'Billing']`. */
export function withoutLabel(key: string, value: unknown): unknown {
  if (!Array.isArray(value) || value.length !== 2 || !/id$/i.test(key)) return value;
  const [id, label]: readonly unknown[] = value;
  return Number.isInteger(id) && typeof label === 'string' ? id : value;
}
