export type JsonObject = { readonly [key: string]: unknown };

/** Whether a value is an object, but not an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a value is an object without keys. */
export function isEmptyObject(value: unknown): boolean {
  return isJsonObject(value) && Object.keys(value).length === 0;
}

const MAX_TEXT = 60;

/** Replaces a long text with its length: a truncated secret would escape redaction. */
function shorten(text: string): string {
  return text.length > MAX_TEXT ? `(${text.length} characters)` : text;
}

/** Describes a JSON value for an error message. */
export function describeJson(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : `an array of ${value.length}`;
  if (isJsonObject(value)) return describeFields(value);
  return `the ${typeof value} ${shorten(typeof value === 'bigint' ? String(value) : JSON.stringify(value))}`;
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return value === '' ? 'empty string' : typeof value;
}

const MAX_FIELDS = 20;
const MAX_FIELD_DEPTH = 3;

interface Field {
  readonly path: string;
  readonly key: string;
  readonly value: unknown;
}

/** Returns the values in an object, with their paths as `contract set` takes them. @param isOpen what to look into */
function fieldsIn(object: object, isOpen: (value: object) => boolean, prefix = '', depth = 1): readonly Field[] {
  return Object.entries(object).flatMap(([key, value]: [string, unknown]) => {
    const path = prefix + shorten(key);
    const isInner = typeof value === 'object' && value !== null && depth < MAX_FIELD_DEPTH && isOpen(value);
    return isInner ? fieldsIn(value, isOpen, `${path}.`, depth + 1) : [{ path, key, value }];
  });
}

/** Describes an object by its fields and the types of their values: `an object with id (null), sys.ref (string)`. */
export function describeFields(object: JsonObject): string {
  if (isEmptyObject(object)) return 'an empty object';
  const fields = fieldsIn(object, (inner) => isJsonObject(inner) && !isEmptyObject(inner));
  const shown = fields.slice(0, MAX_FIELDS).map(({ path, value }) => `${path} (${typeOf(value)})`);
  const more = fields.length > MAX_FIELDS ? `, … (${fields.length} fields)` : '';
  return `an object with ${shown.join(', ')}${more}`;
}

/** The names of ids: `id`, `space_id`, `fileId`, `uuid`; not `paid`. */
const ID_NAME = /^(?:uu|gu|[ugso])?id$|^ID$|^Id$|[_-](?:id|ID|uuid|guid)$|[a-z](?:Id|ID|Uuid|UUID)$/;
const SECRET = /secret|token|cookie|(?:^|\.)(?:auth(?:orization)?|session)(?:\.|$)/i;

/** Returns the values that may be ids, by path: `{ 'file.id': 'f_1' }`. @param suspects other names of them */
export function findIds(body: unknown, suspects: readonly string[]): Readonly<Record<string, string>> {
  const fields = typeof body === 'object' && body !== null ? fieldsIn(body, () => true) : [];
  const ids = fields.flatMap(({ path, key, value }) => {
    const isId = (suspects.includes(key) || ID_NAME.test(key)) && !SECRET.test(path);
    return isId && /^[\w.:/-]{1,60}$/.test(String(value ?? '')) ? [[path, String(value)] as const] : [];
  });
  return Object.fromEntries(ids.slice(0, MAX_FIELDS));
}

/** Probably a number of 16 digits or more, or with an exponent. Matches rarely within a string, because of what precedes it. */
const LONG_NUMBER = /(?:^|[:,[\s])-?(?:\d{16}|[\d.]+[eE]\+?\d\d)/;
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Deeper values could exceed the stack of code that reads or prints them. */
const MAX_DEPTH = 200;

export class JsonLimitError extends Error {}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

/**
 * Parses JSON. An integer that a number would round becomes a BigInt: a 17-digit id could become that of another
 * object. An id that is written with an exponent becomes its text.
 * @throws SyntaxError if the text is not JSON; JsonLimitError if it is nested deeper than 200 levels
 */
export function parseJson(text: string): unknown {
  const plain: unknown = JSON.parse(text);
  if (isDeeper(plain, MAX_DEPTH)) throw new JsonLimitError(`is nested deeper than ${MAX_DEPTH} levels`);
  if (!LONG_NUMBER.test(text)) return plain;
  // No text of the service can begin with it.
  const mark = `exact ${Math.random()}: `;
  const isRounded = (token: string) => Number.isInteger(Number(token)) && !Number.isSafeInteger(Number(token));
  const marked = text.replace(STRING_OR_NUMBER, (token) => (isRounded(token) ? `"${mark}${token}"` : token));
  return JSON.parse(marked, (key, value: unknown) => {
    if (typeof value !== 'string' || !value.startsWith(mark)) return value;
    const token = value.slice(mark.length);
    if (/^-?\d+$/.test(token)) return BigInt(token);
    return ID_NAME.test(key) ? token : Number(token);
  });
}

/** Returns the value of a text that is JSON; any other text as it is. */
export function jsonOrText(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

/** Converts a JSON value to text. Unlike `String`, does not fail for an object with a key `toString`. */
export function jsonText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  return JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? String(inner) : inner));
}

/** Returns a value, or the URL in it if it is a link object; undefined for an object without one. */
export function urlOf(value: unknown): unknown {
  return isJsonObject(value) ? (value.href ?? value.url ?? value.uri) : value;
}

/** Returns the link to the next page in a list of links: `[{ rel: 'next', href }]`. */
export function nextLinkIn(list: readonly unknown[]): JsonObject | undefined {
  return list.filter(isJsonObject).find(({ rel, relation }) => /\bnext\b/i.test(String(rel ?? relation)));
}

/** Returns the value at a dotted path. Keys may contain dots: each step takes the longest that matches. */
export function descend(value: unknown, path: string): unknown {
  if (path === '') return value;
  if (Array.isArray(value)) return path === 'next' ? nextLinkIn(value) : undefined;
  if (!isJsonObject(value)) return undefined;
  const matching = Object.keys(value).filter((key) => path === key || path.startsWith(`${key}.`));
  for (const key of matching.toSorted((left, right) => right.length - left.length)) {
    const found = descend(value[key], path.slice(key.length + 1));
    if (found !== undefined) return found;
  }
  return undefined;
}
