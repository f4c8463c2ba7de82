import { isJsonObject, type JsonObject } from '../contract/json.ts';
import { type OpenApiDocument, OpenApiError } from './document.ts';

/** A schema with its references, `allOf`, `oneOf`, and `anyOf` merged, one level deep. */
export interface Shape {
  readonly types: ReadonlySet<string>;
  /** The schemas of each property, one for each part of the schema. */
  readonly properties: ReadonlyMap<string, readonly unknown[]>;
  readonly items: readonly unknown[];
  readonly required: ReadonlySet<string>;
  /** Whether properties beside these are forbidden. */
  readonly isClosed: boolean;
  /** Whether properties beside these are expressly allowed. */
  readonly isExtensible: boolean;
  /** `format`, and in OpenAPI 3.1 the media type of the content. */
  readonly formats: readonly string[];
  /** The values of `enum` and `const`. */
  readonly choices: readonly unknown[];
  /** Whether a number starts at 0: by its default, or by its minimum. */
  readonly startsAtZero: boolean;
}

/** Limits the nesting of `allOf`, `oneOf`, and `anyOf`. */
const MAX_PARTS_DEPTH = 32;

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function texts(...values: readonly unknown[]): readonly string[] {
  return values.filter((value) => typeof value === 'string');
}

function typesOf({ type, properties, items }: JsonObject): readonly string[] {
  if (type !== undefined) return texts(...(Array.isArray(type) ? type : [type]));
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

/** Returns a schema and all that it consists of. @throws OpenApiError if a schema contains itself */
function partsOf(document: OpenApiDocument, given: unknown, depth: number): readonly JsonObject[] {
  if (depth > MAX_PARTS_DEPTH) throw new OpenApiError('a schema contains itself (allOf, oneOf, or anyOf)');
  const schema = document.resolve(given);
  if (schema === undefined) return [];
  const inner = [...list(schema.allOf), ...list(schema.oneOf), ...list(schema.anyOf)];
  return [schema, ...inner.flatMap((part) => partsOf(document, part, depth + 1))];
}

/**
 * Returns the shape of a value that all these schemas describe.
 * @throws OpenApiError if a schema contains itself, or for a reference that cannot be followed
 */
export function shapeOf(document: OpenApiDocument, schemas: readonly unknown[]): Shape {
  const parts = schemas.flatMap((schema) => partsOf(document, schema, 0));
  const allows = parts.flatMap((part) => [part.additionalProperties, part.unevaluatedProperties]);
  return {
    types: new Set(parts.flatMap(typesOf)),
    properties: propertiesIn(parts),
    items: parts.flatMap(({ items }) => (items === undefined ? [] : [items])),
    required: new Set(parts.flatMap(({ required }) => texts(...list(required)))),
    isClosed: allows.includes(false),
    isExtensible: allows.some((allowed) => allowed === true || isJsonObject(allowed)),
    formats: parts.flatMap((part) => texts(part.format, part.contentMediaType)),
    choices: parts.flatMap((part) => [...list(part.enum), ...(part.const === undefined ? [] : [part.const])]),
    startsAtZero: parts.some((part) => part.default === 0 || (part.default === undefined && part.minimum === 0)),
  };
}

/** Whether the schema of an object says nothing, or not everything, about its properties. */
export function isOpen({ types, properties, isClosed, isExtensible }: Shape): boolean {
  const canBeObject = types.size === 0 || types.has('object');
  return canBeObject && !isClosed && (properties.size === 0 || isExtensible);
}

/** A property anywhere in a schema. */
export interface Property {
  /** The keys that lead to it; `[]` after the name of a list means each item. */
  readonly path: readonly string[];
  readonly shape: Shape;
  readonly isRequired: boolean;
}

const MAX_PROPERTIES = 2_000;

/** Whether a name is one that a person can read. */
export function isPrintable(name: string): boolean {
  return name.length > 0 && name.length <= 100 && !/\p{Cc}/u.test(name);
}

/** Whether the path of a leaf can have this name. */
function isExpressible(name: string): boolean {
  return isPrintable(name) && !/[.[\]:,|\s]/.test(name);
}

/** Returns the properties of an object, whatever their names. */
export function innerProperties(document: OpenApiDocument, { path, shape, isRequired }: Property): readonly Property[] {
  return [...shape.properties].map(([name, schemas]) => ({
    path: [...path, name],
    shape: shapeOf(document, schemas),
    isRequired: isRequired && shape.required.has(name),
  }));
}

/** Returns the items of a list of objects as a property with `[]` in its path. */
function eachItem(document: OpenApiDocument, { path, shape, isRequired }: Property): readonly Property[] {
  const items = shape.items.length > 0 ? shapeOf(document, shape.items) : undefined;
  if (items === undefined || items.properties.size === 0) return [];
  return [{ path: [...path.slice(0, -1), `${path.at(-1) ?? ''}[]`], shape: items, isRequired }];
}

/**
 * Returns the properties of a value that a leaf can name, the outermost first.
 * @param maxDepth how many names a path may have
 */
export function propertiesOf(document: OpenApiDocument, root: Shape, maxDepth: number): readonly Property[] {
  let found: readonly Property[] = [];
  let level: readonly Property[] = [{ path: [], shape: root, isRequired: true }];
  for (let depth = 1; depth <= maxDepth; depth += 1) {
    let next: readonly Property[] = [];
    for (const holder of level) {
      if (found.length + next.length >= MAX_PROPERTIES) break;
      const inner = innerProperties(document, holder).filter(({ path }) => isExpressible(path.at(-1) ?? ''));
      next = [...next, ...inner];
    }
    found = [...found, ...next];
    level = next.flatMap((property) => [property, ...eachItem(document, property)]);
  }
  return found;
}

/** Whether a path leads through a list. */
export function isInList({ path }: Pick<Property, 'path'>): boolean {
  return path.some((step) => step.endsWith('[]'));
}
