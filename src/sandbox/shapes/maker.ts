import type { Schema } from '../contract/schema.ts';
import { isFields, type Json } from './json.ts';

/*
 * A response and its schema are built by the same code, so that they cannot disagree: what arranges a resource is written
 * once, over a `Maker`. `VALUES` makes the response, `SCHEMAS` its schema.
 */

/** A schema of a field that may be missing. */
export type FieldSchema = Schema & { readonly optional?: true };

/** The names of the roles. */
export type RoleNames = Readonly<Record<'user' | 'assistant', string>>;

/** The size of a unit of time in milliseconds. */
type UnitMs = 1 | 1_000;

export interface Maker<T> {
  /** Undefined fields are left out. */
  object(fields: Readonly<Record<string, T | undefined>>): T;
  constant(value: string | boolean): T;
  list(items: readonly T[]): T;
  /** Arranges every item of a list. */
  each(list: T, arrange: (item: T) => T): T;
  fieldsOf(object: T): Readonly<Record<string, T>>;
  /** With every nested name changed. */
  renamed(value: T, rename: (name: string) => string): T;
  /** A text with something in front of it. */
  prefixed(prefix: string, text: T): T;
  /** The role of a message under another name. */
  renamedRole(role: T, names: RoleNames): T;
  isAssistant(role: T): T;
  /** A time as a number since the epoch. */
  sinceEpoch(time: T, unitMs: UnitMs): T;
}

function renameKeys(value: Json, rename: (name: string) => string): Json {
  if (Array.isArray(value)) return value.map((item) => renameKeys(item, rename));
  if (!isFields(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [rename(key), renameKeys(child, rename)]));
}

/** Makes responses. */
export const VALUES: Maker<Json> = {
  object: (fields) =>
    Object.fromEntries(Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))),
  constant: (value) => value,
  list: (items) => items,
  each: (list, arrange) => (Array.isArray(list) ? list.map(arrange) : list),
  fieldsOf: (object) => (isFields(object) ? object : {}),
  renamed: renameKeys,
  prefixed: (prefix, text) => `${prefix}${String(text)}`,
  renamedRole: (role, names) => (role === 'assistant' ? names.assistant : names.user),
  isAssistant: (role) => role === 'assistant',
  sinceEpoch: (time, unitMs) => (typeof time === 'string' ? Math.floor(Date.parse(time) / unitMs) : time),
};

/** Renames the properties of a schema and of the schemas in it. */
export function renameProperties(schema: Schema, rename: (name: string) => string): Schema {
  const { properties, required, items, anyOf } = schema;
  return {
    ...schema,
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, child]) => [rename(name), renameProperties(child, rename)]),
      ),
    }),
    ...(required && { required: required.map(rename) }),
    ...(items && { items: renameProperties(items, rename) }),
    ...(anyOf && { anyOf: anyOf.map((child) => renameProperties(child, rename)) }),
  };
}

/** Makes schemas of responses. */
export const SCHEMAS: Maker<FieldSchema> = {
  object: (fields) => {
    const present = Object.entries(fields).flatMap(([name, field]) => (field ? [[name, field] as const] : []));
    const required = present.filter(([, { optional }]) => !optional).map(([name]) => name);
    const properties = Object.fromEntries(present.map(([name, { optional: _, ...schema }]) => [name, schema]));
    // An object of optional fields is left out when it is empty.
    if (present.length > 0 && required.length === 0) return { type: 'object', properties, optional: true };
    return { type: 'object', properties, ...(required.length > 0 && { required }) };
  },
  constant: (value) => ({ type: typeof value, enum: [value] }),
  list: (items) => ({ type: 'array', ...(items[0] && { items: items[0] }) }),
  each: (list, arrange) => ({ ...list, ...(list.items && { items: arrange(list.items) }) }),
  fieldsOf: ({ properties = {}, required = [] }) =>
    Object.fromEntries(
      Object.entries(properties).map(([name, schema]) => [
        name,
        required.includes(name) ? schema : { ...schema, optional: true },
      ]),
    ),
  renamed: renameProperties,
  prefixed: () => ({ type: 'string', description: 'The address.' }),
  renamedRole: (role, names) => ({ ...role, enum: [names.user, names.assistant] }),
  isAssistant: () => ({ type: 'boolean', description: 'Whether an agent wrote it.' }),
  sinceEpoch: ({ description = '' }, unitMs) => ({
    type: 'integer',
    description: `${description} In ${unitMs === 1 ? 'milliseconds' : 'seconds'} since the epoch.`,
  }),
};

/** The schema of a field without the `optional` mark. */
export function withoutOptional({ optional: _, ...schema }: FieldSchema): Schema {
  return schema;
}

/**
 * Builds a nested object.
 * @param entries values by path, such as `paging/next`; a value with an empty path is returned alone
 */
export function place<T>(make: Maker<T>, entries: readonly (readonly [path: string, value: T | undefined])[]): T {
  const alone = entries.find(([path]) => path === '');
  if (alone?.[1] !== undefined) return alone[1];
  const groups = new Map<string, (readonly [string, T])[]>();
  for (const [path, value] of entries) {
    if (value === undefined) continue;
    const [first = '', ...rest] = path.split('/');
    groups.set(first, [...(groups.get(first) ?? []), [rest.join('/'), value]]);
  }
  return make.object(Object.fromEntries([...groups].map(([name, group]) => [name, place(make, group)])));
}
