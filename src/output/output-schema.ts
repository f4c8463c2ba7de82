type JsonType = 'string' | 'number' | 'integer' | 'boolean' | 'object' | 'array' | 'null';

/** The subset of JSON Schema (2020-12) that describes the output of commands. */
export interface JsonSchema {
  readonly description?: string;
  readonly type?: JsonType | readonly JsonType[];
  readonly enum?: readonly (string | boolean | null)[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
}

/** What a command prints for programs. */
export interface OutputShape {
  /** The document that `-o json` prints; null if `-o json` prints the lines of `ndjson`, or plain text. */
  readonly json: JsonSchema | null;
  /** A line of `-o ndjson`. By default, each item of an array is a line, and any other document is one line. */
  readonly ndjson?: JsonSchema;
  /** A short description of the output, if it is plain text in every format. */
  readonly text?: string;
}

/** What a command prints, by default and with certain flags. */
export interface CommandOutput extends OutputShape {
  /** The first variant that has one of the set flags applies. */
  readonly variants?: readonly OutputVariant[];
}

/** What a command prints if one of the flags (without dashes) is set. */
interface OutputVariant extends OutputShape {
  readonly flags: readonly string[];
}

type Properties = Readonly<Record<string, JsonSchema>>;

export const ANYTHING: JsonSchema = {};
export const STRING: JsonSchema = { type: 'string' };
export const INTEGER: JsonSchema = { type: 'integer' };
export const BOOLEAN: JsonSchema = { type: 'boolean' };

/** The schema of an object: the fields that are always present, and those that may be absent. */
export function object(required: Properties, optional: Properties = {}): JsonSchema {
  return { type: 'object', properties: { ...required, ...optional }, required: Object.keys(required) };
}

/** The schema of an object that may have further fields, such as one that the service sent. */
export function openObject(required: Properties, optional: Properties = {}): JsonSchema {
  return { ...object(required, optional), additionalProperties: true };
}

/** The schema of an object whose keys are data. */
export function mapOf(values: JsonSchema): JsonSchema {
  return { type: 'object', additionalProperties: values };
}

/** The schema of an array. */
export function arrayOf(items: JsonSchema): JsonSchema {
  return { type: 'array', items };
}

/** The schema of a string that is one of `values`. */
export function oneOf(...values: readonly string[]): JsonSchema {
  return { type: 'string', enum: values };
}

/** The schema of a value that may be null. */
export function nullable(schema: JsonSchema): JsonSchema {
  if (schema.type === undefined) return { anyOf: [schema, { type: 'null' }] };
  const types = [schema.type].flat();
  return { ...schema, type: [...types, 'null'], ...(schema.enum && { enum: [...schema.enum, null] }) };
}

/** Adds a description. */
export function described(description: string, schema: JsonSchema): JsonSchema {
  return { description, ...schema };
}

/** The output of a list: an array in JSON, an item per line in ndjson. */
export function listOf(items: JsonSchema): OutputShape {
  return { json: arrayOf(items) };
}
