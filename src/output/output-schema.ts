/** The type of a JSON value. */
type JsonType = 'string' | 'number' | 'integer' | 'boolean' | 'object' | 'array' | 'null';

/** The part of JSON Schema (2020-12) with which commands describe their output. */
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
  /** The document that `-o json` prints. Null if it prints the lines of `ndjson`, or if there is only text. */
  readonly json: JsonSchema | null;
  /** A line of `-o ndjson`. If absent, each item of an array is a line, and any other document is the only line. */
  readonly ndjson?: JsonSchema;
  /** What the command prints in every format, in a few words, if it prints no JSON. */
  readonly text?: string;
}

/** What a command prints, by default and with certain flags. */
export interface CommandOutput extends OutputShape {
  /** The first one applies of which a flag is set. */
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

/** An object that the tool builds: the fields that it always has, and those that it may have. */
export function object(required: Properties, optional: Properties = {}): JsonSchema {
  return { type: 'object', properties: { ...required, ...optional }, required: Object.keys(required) };
}

/** An object with more fields than can be named, such as one of the service: what it always has, and what is likely. */
export function openObject(required: Properties, optional: Properties = {}): JsonSchema {
  return { ...object(required, optional), additionalProperties: true };
}

/** An object whose keys are data. */
export function mapOf(values: JsonSchema): JsonSchema {
  return { type: 'object', additionalProperties: values };
}

export function arrayOf(items: JsonSchema): JsonSchema {
  return { type: 'array', items };
}

/** One of several texts. */
export function oneOf(...values: readonly string[]): JsonSchema {
  return { type: 'string', enum: values };
}

export function nullable(schema: JsonSchema): JsonSchema {
  if (schema.type === undefined) return { anyOf: [schema, { type: 'null' }] };
  const types = [schema.type].flat();
  return { ...schema, type: [...types, 'null'], ...(schema.enum && { enum: [...schema.enum, null] }) };
}

/** Adds what a reader needs to know besides the name. */
export function described(description: string, schema: JsonSchema): JsonSchema {
  return { description, ...schema };
}

/** An array in a document, an item a line in ndjson. */
export function listOf(items: JsonSchema): OutputShape {
  return { json: arrayOf(items) };
}
