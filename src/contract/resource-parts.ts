import { normalizeName } from './field-names.ts';
import { isJsonObject, type JsonObject } from './json.ts';

/** Names that belong to any resource. Next to a nested resource, they belong to its envelope. */
export const PLAIN = new Set([
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

/** Whether an object with this field is likely the resource: ids and the usual fields of envelopes prove nothing. */
export function tells(name: string): boolean {
  return !PLAIN.has(name) && !['type', 'kind', 'data', 'payload', 'date', 'time'].includes(name);
}

/** Whether a field may stand beside the object that holds all others: an id, a type, a version. */
export function isBareName(key: string): boolean {
  const name = normalizeName(key);
  return (
    PLAIN.has(name) || ['type', 'kind', 'object', 'etag', 'version', 'url', 'href', 'self', 'links'].includes(name)
  );
}

/** Whether an object under this name may have fields that the resource itself lacks. */
export function isSupplement(key: string): boolean {
  return ['profile', 'info'].includes(normalizeName(key));
}

/** The only object beside a block of links: `{links: […], content: {…}}`. */
export function besideLinks(object: JsonObject): JsonObject | undefined {
  const keys = Object.keys(object);
  if (keys.length !== 2 || !('links' in object || '_links' in object)) return undefined;
  const key = keys.find((each) => each !== 'links' && each !== '_links');
  const value = key === undefined ? undefined : object[key];
  return isJsonObject(value) ? value : undefined;
}

/**
 * Returns the keys of objects that together are the resource, by the conventions of well-known platforms: `sys` and
 * `fields`, `metadata` and `spec`, or `_source` beside an `_id`. Alone, each of these names may mean anything.
 */
export function pairedParts(object: JsonObject): readonly string[] {
  if (isJsonObject(object._source) && object._id !== undefined) return ['_source'];
  if (isJsonObject(object.sys) && isJsonObject(object.fields)) return ['sys'];
  if (isJsonObject(object.metadata) && isJsonObject(object.entity)) return ['metadata', 'entity'];
  return isJsonObject(object.metadata) && isJsonObject(object.spec) ? ['metadata', 'spec'] : [];
}

/** Returns the id in a pair of an id and what it is called, as Odoo sends relations: `agent_id: [41, 'Billing']`. */
export function withoutLabel(key: string, value: unknown): unknown {
  if (!Array.isArray(value) || value.length !== 2 || !/id$/i.test(key)) return value;
  const [id, label]: readonly unknown[] = value;
  return Number.isInteger(id) && typeof label === 'string' ? id : value;
}
