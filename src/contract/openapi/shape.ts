import { isJsonObject } from '../json.ts';
import { type OpenApiDocument, OpenApiError } from './document.ts';

/** A schema with its references, `allOf`, `oneOf`, and `anyOf` resolved, one level deep. */
export interface Shape {
  readonly types: ReadonlySet<string>;
  /** The schemas of each property, one for each part of the schema. */
  readonly properties: ReadonlyMap<string, readonly unknown[]>;
  readonly items: readonly unknown[];
  readonly required: ReadonlySet<string>;
  /** Whether further properties are forbidden. */
  readonly isClosed: boolean;
  readonly format: string | undefined;
  /** Description and title, in lower case. */
  readonly text: string;
  readonly examples: readonly unknown[];
  /** The values of `enum` and `const`. */
  readonly choices: readonly unknown[];
  /** Whether a number starts at 0: by its default, or by its minimum. */
  readonly startsAtZero: boolean;
}

interface Parts {
  readonly types: Set<string>;
  readonly properties: Map<string, unknown[]>;
  readonly items: unknown[];
  readonly required: Set<string>;
  isClosed: boolean;
  format: string | undefined;
  text: string;
  readonly examples: unknown[];
  readonly choices: unknown[];
  startsAtZero: boolean;
}

/** Limits the nesting of `allOf`, `oneOf`, and `anyOf`. */
const MAX_PARTS_DEPTH = 32;

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function addTypes(schema: Readonly<Record<string, unknown>>, parts: Parts): void {
  const { type, properties, items, nullable } = schema;
  for (const each of Array.isArray(type) ? type : [type]) if (typeof each === 'string') parts.types.add(each);
  if (type === undefined && isJsonObject(properties)) parts.types.add('object');
  if (type === undefined && items !== undefined) parts.types.add('array');
  if (nullable === true) parts.types.add('null');
}

function addOwn(schema: Readonly<Record<string, unknown>>, parts: Parts): void {
  const { properties, items, required, additionalProperties, format, title, description } = schema;
  addTypes(schema, parts);
  for (const [name, inner] of isJsonObject(properties) ? Object.entries(properties) : []) {
    parts.properties.set(name, [...(parts.properties.get(name) ?? []), inner]);
  }
  if (items !== undefined) parts.items.push(items);
  for (const name of list(required)) if (typeof name === 'string') parts.required.add(name);
  if (additionalProperties === false) parts.isClosed = true;
  if (typeof format === 'string') parts.format = format;
  for (const each of [title, description]) if (typeof each === 'string') parts.text += ` ${each.toLowerCase()}`;
  for (const each of [schema.example, ...list(schema.examples)]) if (each !== undefined) parts.examples.push(each);
  if (schema.default === 0 || (schema.default === undefined && schema.minimum === 0)) parts.startsAtZero = true;
  parts.choices.push(...list(schema.enum), ...(schema.const === undefined ? [] : [schema.const]));
}

/**
 * Returns the shape of a value that all these schemas describe.
 * @throws OpenApiError if a schema contains itself
 */
export function shapeOf(document: OpenApiDocument, schemas: readonly unknown[]): Shape {
  const parts: Parts = {
    types: new Set(),
    properties: new Map(),
    items: [],
    required: new Set(),
    isClosed: false,
    format: undefined,
    text: '',
    examples: [],
    choices: [],
    startsAtZero: false,
  };
  function add(given: unknown, depth: number): void {
    if (depth > MAX_PARTS_DEPTH) throw new OpenApiError('a schema contains itself (allOf, oneOf, or anyOf)');
    const schema = document.resolve(given);
    if (schema === undefined) return;
    addOwn(schema, parts);
    for (const part of [...list(schema.allOf), ...list(schema.oneOf), ...list(schema.anyOf)]) add(part, depth + 1);
  }
  for (const schema of schemas) add(schema, 0);
  return parts;
}

/** A property anywhere in a schema. */
export interface Property {
  /** The keys that lead to it; `[]` after the name of a list means each item. */
  readonly path: readonly string[];
  readonly shape: Shape;
  readonly isRequired: boolean;
}

const MAX_PROPERTIES = 2_000;

/** Whether the path of a leaf can have this name. */
function isExpressible(name: string): boolean {
  return name.length > 0 && name.length <= 100 && !/[.[\]:,|\s]/.test(name);
}

function propertiesIn(
  document: OpenApiDocument,
  { path, shape, isRequired }: Property,
  isAllowed = isExpressible,
): Property[] {
  return [...shape.properties]
    .filter(([name]) => isAllowed(name))
    .map(([name, schemas]) => ({
      path: [...path, name],
      shape: shapeOf(document, schemas),
      isRequired: isRequired && shape.required.has(name),
    }));
}

/** Returns the items of a list of objects as a property with `[]` in its path. */
function eachItem(document: OpenApiDocument, { path, shape, isRequired }: Property): Property[] {
  const items = shape.items.length > 0 ? shapeOf(document, shape.items) : undefined;
  if (items === undefined || items.properties.size === 0) return [];
  return [{ path: [...path.slice(0, -1), `${path.at(-1) ?? ''}[]`], shape: items, isRequired }];
}

/**
 * Returns the properties of a value, the outermost first.
 * @param maxDepth how many names a path may have
 */
export function propertiesOf(document: OpenApiDocument, root: Shape, maxDepth: number): readonly Property[] {
  const found: Property[] = [];
  let level: readonly Property[] = [{ path: [], shape: root, isRequired: true }];
  for (let depth = 1; depth <= maxDepth && level.length > 0 && found.length < MAX_PROPERTIES; depth += 1) {
    const next = level.flatMap((holder) => propertiesIn(document, holder)).slice(0, MAX_PROPERTIES - found.length);
    found.push(...next);
    level = next.flatMap((property) => [property, ...eachItem(document, property)]);
  }
  return found;
}

/** Returns the fields of a form, whose names may end with `[]`. */
export function formFields(document: OpenApiDocument, root: Shape): readonly Property[] {
  const isAllowed = (name: string): boolean => isExpressible(name.replace(/\[\]$/, ''));
  return propertiesIn(document, { path: [], shape: root, isRequired: true }, isAllowed);
}
