import { isJsonObject, type JsonObject } from '../contract/json.ts';

/** A schema with its `allOf`, `oneOf`, and `anyOf` merged, one level deep. */
export interface Shape {
  readonly types: ReadonlySet<string>;
  /** The schemas of each property, one for each part of the schema. */
  readonly properties: ReadonlyMap<string, readonly unknown[]>;
  readonly items: readonly unknown[];
  /** `format`, and in OpenAPI 3.1 the media type of the content. */
  readonly formats: readonly string[];
  /** Whether it is a moment, and so no id. */
  readonly isTime: boolean;
  readonly choices: readonly unknown[];
  readonly default: unknown;
  readonly minimum: unknown;
  readonly maximum: unknown;
}

/** Returns an array; anything else is an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function texts(...values: readonly unknown[]): readonly string[] {
  return values.filter((value) => typeof value === 'string');
}

function typesOf({ type, properties, items }: JsonObject): readonly string[] {
  if (type !== undefined) return texts(type, ...listOf(type));
  return isJsonObject(properties) ? ['object'] : items === undefined ? [] : ['array'];
}

function propertiesIn(parts: readonly JsonObject[]): ReadonlyMap<string, readonly unknown[]> {
  const found = new Map<string, readonly unknown[]>();
  for (const { properties } of parts) {
    for (const [name, schema] of isJsonObject(properties) ? Object.entries(properties) : []) {
      found.set(name, [...(found.get(name) ?? []), schema]);
    }
  }
  return found;
}

/** Returns schemas and all that they consist of. @param seen ends a schema that contains itself */
function partsOf(schemas: readonly unknown[], seen = new Set<JsonObject>()): readonly JsonObject[] {
  return schemas.filter(isJsonObject).flatMap((schema) => {
    if (seen.has(schema)) return [];
    seen.add(schema);
    return [schema, ...partsOf([...listOf(schema.allOf), ...listOf(schema.oneOf), ...listOf(schema.anyOf)], seen)];
  });
}

/** Returns the shape of a value that all these schemas describe. */
export function shapeOf(schemas: readonly unknown[]): Shape {
  const parts = partsOf(schemas);
  const [types, properties] = [new Set(parts.flatMap(typesOf)), propertiesIn(parts)];
  const formats = parts.flatMap((part) => texts(part.format, part.contentMediaType));
  const first = (key: string): unknown => parts.find((part) => part[key] !== undefined)?.[key];
  return {
    types,
    properties,
    items: parts.flatMap(({ items }) => (items === undefined ? [] : [items])),
    formats,
    isTime: formats.some((format) => /^(?:date|time)/.test(format)),
    choices: parts.flatMap((part) => [...listOf(part.enum), ...(part.const === undefined ? [] : [part.const])]),
    default: first('default'),
    minimum: first('minimum'),
    maximum: first('maximum'),
  };
}
