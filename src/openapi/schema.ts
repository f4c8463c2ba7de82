import { isJsonObject, type JsonObject } from '../contract/json.ts';

/** A schema with its `allOf`, `oneOf`, and `anyOf` merged, one level deep. */
export interface Shape {
  readonly types: ReadonlySet<string>;
  /** The schemas of each property, one for each part of the schema. */
  readonly properties: ReadonlyMap<string, readonly unknown[]>;
  readonly items: readonly unknown[];
  /** Whether properties beside these are forbidden. */
  readonly isClosed: boolean;
  /** Whether properties beside these are expressly allowed. */
  readonly isExtensible: boolean;
  /** `format`, and in OpenAPI 3.1 the media type of the content. */
  readonly formats: readonly string[];
  /** The values of `enum` and `const`. */
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
  const allows = parts.flatMap((part) => [part.additionalProperties, part.unevaluatedProperties]);
  return {
    types: new Set(parts.flatMap(typesOf)),
    properties: propertiesIn(parts),
    items: parts.flatMap(({ items }) => (items === undefined ? [] : [items])),
    isClosed: allows.includes(false),
    isExtensible: allows.some((allowed) => allowed === true || isJsonObject(allowed)),
    formats: parts.flatMap((part) => texts(part.format, part.contentMediaType)),
    choices: parts.flatMap((part) => [...listOf(part.enum), ...(part.const === undefined ? [] : [part.const])]),
    default: parts.find((part) => part.default !== undefined)?.default,
    minimum: parts.find((part) => part.minimum !== undefined)?.minimum,
    maximum: parts.find((part) => part.maximum !== undefined)?.maximum,
  };
}

/** Whether a value is a moment, and so no id. */
export function isTime({ formats }: Shape): boolean {
  return formats.some((format) => /^(?:date|time)/.test(format));
}

/** Whether the schema of an object says nothing, or not everything, about its properties. */
export function isOpen({ types, properties, isClosed, isExtensible }: Shape): boolean {
  const canBeObject = types.size === 0 || types.has('object');
  return canBeObject && !isClosed && (properties.size === 0 || isExtensible);
}
