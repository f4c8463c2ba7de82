import type { Document } from './openapi.ts';

type Node = Readonly<Record<string, unknown>>;

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isNull(schema: unknown): boolean {
  return isNode(schema) && schema.type === 'null';
}

/** Removes what OpenAPI 3.0 lacks: the type null, lists of types, and contentMediaType. */
function convertSchema(schema: Node): Node {
  const { type, anyOf, contentMediaType: _, ...rest } = schema;
  if (Array.isArray(type)) {
    const types = type.filter((each) => each !== 'null');
    return { ...rest, type: types[0], nullable: true };
  }
  if (type === 'null') return { ...rest, type: 'object', nullable: true, enum: [null] };
  if (!Array.isArray(anyOf)) return type === undefined ? rest : { ...rest, type };
  const others = anyOf.filter((each) => !isNull(each));
  const [only] = others;
  if (others.length === anyOf.length || !isNode(only)) return { ...rest, anyOf };
  return { ...rest, ...only, nullable: true };
}

function convert(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(convert);
  if (!isNode(value)) return value;
  return Object.fromEntries(Object.entries(convertSchema(value)).map(([key, child]) => [key, convert(child)]));
}

/** Converts a document to OpenAPI 3.0, which has no webhooks. */
export function toOpenApi30({ paths, components, webhooks: _, ...rest }: Document): object {
  return { ...rest, openapi: '3.0.3', paths: convert(paths), components: convert(components) };
}
