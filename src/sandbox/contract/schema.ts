/** The part of JSON Schema 2020-12 that the document uses. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly contentMediaType?: string;
}

/** An object schema. A name that ends in `?` is an optional property. */
export function objectOf(fields: Readonly<Record<string, Schema>>, more: Schema = {}): Schema {
  const required = Object.keys(fields).filter((name) => !name.endsWith('?'));
  return {
    type: 'object',
    ...more,
    properties: Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name.replace(/\?$/, ''), schema])),
    ...(required.length > 0 && { required }),
  };
}

/** An array schema. */
export function listOf(items: Schema, more: Schema = {}): Schema {
  return { type: 'array', items, ...more };
}

/** A string schema. */
export function text(description: string, more: Schema = {}): Schema {
  return { type: 'string', description, ...more };
}

/** A boolean schema. */
export function flag(description: string): Schema {
  return { type: 'boolean', description };
}

/** The schema of a time in ISO 8601. */
export function time(description: string): Schema {
  return text(description, { format: 'date-time' });
}

/** A reference to a component of the document. */
export function refTo(component: string): Schema {
  return { $ref: `#/components/schemas/${component}` };
}

/** The same schema, or null. */
export function orNull(schema: Schema): Schema {
  if (typeof schema.type === 'string') return { ...schema, type: [schema.type, 'null'] };
  return { anyOf: [schema, { type: 'null' }] };
}
