import { describeJson, isJsonObject, type JsonObject, jsonText } from '../json.ts';

/** The keys of the path to a value in a document. */
export type Pointer = readonly string[];

/** A document that cannot be used: not OpenAPI 3.0 or 3.1, or with references that cannot be resolved. */
export class OpenApiError extends Error {
  /** Where in the document the problem is. */
  readonly pointer: Pointer;
  readonly hint: string | undefined;

  constructor(message: string, pointer: Pointer = [], hint?: string) {
    super(message);
    this.pointer = pointer;
    this.hint = hint;
  }
}

/** Limits for the time and memory that a hostile document can cost. */
const MAX_VALUES = 1_000_000;
const MAX_DEPTH = 200;
const MAX_RESOLUTIONS = 500_000;

/** Keys whose values are data: a `$ref` in them is not a reference. */
const DATA_KEYS = new Set(['example', 'examples', 'default', 'enum', 'const', 'x-examples']);

/** Formats a JSON pointer: `#/paths/~1spaces/get`. */
export function formatPointer(pointer: Pointer): string {
  return `#${pointer.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')}`;
}

function decodeReference(reference: string): Pointer | undefined {
  try {
    const steps = decodeURIComponent(reference.slice(1)).split('/');
    return steps.shift() === '' ? steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~')) : undefined;
  } catch {
    return undefined;
  }
}

interface Visit {
  readonly value: unknown;
  readonly parent: Visit | undefined;
  readonly key: string;
  readonly depth: number;
}

function pointerOf(visit: Visit): Pointer {
  const keys: string[] = [];
  for (let at = visit; at.parent !== undefined; at = at.parent) keys.push(at.key);
  return keys.reverse();
}

function rejectExternal(visit: Visit): void {
  const reference = isJsonObject(visit.value) ? visit.value.$ref : undefined;
  if (typeof reference !== 'string' || reference.startsWith('#') || visit.parent?.key === 'properties') return;
  throw new OpenApiError(
    `the reference ${JSON.stringify(reference.slice(0, 100))} points out of the document`,
    [...pointerOf(visit), '$ref'],
    'Bundle the document into one file first, for example with: npx @redocly/cli bundle',
  );
}

/** Visits every value without recursion. @throws OpenApiError for an external reference, and beyond the limits */
function checkValues(root: unknown): void {
  const stack: Visit[] = [{ value: root, parent: undefined, key: '', depth: 0 }];
  let count = 0;
  for (let visit = stack.pop(); visit !== undefined; visit = stack.pop()) {
    const { value, depth } = visit;
    if (depth > MAX_DEPTH) throw new OpenApiError(`values are nested deeper than ${MAX_DEPTH} levels`);
    rejectExternal(visit);
    const entries = Array.isArray(value) ? value.entries() : isJsonObject(value) ? Object.entries(value) : [];
    for (const [key, inner] of entries) {
      count += 1;
      if (count > MAX_VALUES) {
        throw new OpenApiError(`it has more than ${MAX_VALUES.toLocaleString('en')} values`);
      }
      const isData = typeof key === 'string' && DATA_KEYS.has(key) && visit.key !== 'properties';
      const isNested = typeof inner === 'object' && inner !== null;
      if (isNested && !isData) stack.push({ value: inner, parent: visit, key: String(key), depth: depth + 1 });
    }
  }
}

/** An OpenAPI document whose local references can be resolved. */
export class OpenApiDocument {
  readonly root: JsonObject;
  private resolutions = 0;

  constructor(root: JsonObject) {
    this.root = root;
  }

  /**
   * Returns an object after following local references; undefined if there is no object. Keys beside a reference override
   * those of its target (OpenAPI 3.1).
   * @throws OpenApiError for a reference to nothing or to itself
   */
  resolve(value: unknown): JsonObject | undefined {
    const visited = new Set<string>();
    let beside: JsonObject = {};
    let current = value;
    while (isJsonObject(current) && typeof current.$ref === 'string') {
      const { $ref: reference, ...others } = current;
      this.countResolution(reference);
      if (visited.has(reference)) throw new OpenApiError(`the reference ${reference} refers to itself`, []);
      visited.add(reference);
      beside = { ...others, ...beside };
      current = this.target(reference);
    }
    if (!isJsonObject(current)) return undefined;
    return Object.keys(beside).length === 0 ? current : { ...current, ...beside };
  }

  private countResolution(reference: string): void {
    this.resolutions += 1;
    if (this.resolutions <= MAX_RESOLUTIONS) return;
    throw new OpenApiError(`it has too many references; the last one followed was ${JSON.stringify(reference)}`);
  }

  private target(reference: string): unknown {
    const pointer = decodeReference(reference);
    let value: unknown = this.root;
    for (const key of pointer ?? []) {
      value =
        typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
    }
    if (pointer !== undefined && value !== undefined) return value;
    throw new OpenApiError(
      `the reference ${JSON.stringify(reference.slice(0, 100))} leads to nothing`,
      pointer?.slice(0, 1) ?? [],
      'References such as #/components/schemas/Space are followed.',
    );
  }
}

function rejectVersion(root: JsonObject): never {
  if (root.swagger !== undefined) {
    throw new OpenApiError(
      `it is a Swagger ${jsonText(root.swagger).slice(0, 20)} document; OpenAPI 3.0 and 3.1 are supported`,
      ['swagger'],
      'Convert it first, for example with: npx swagger2openapi',
    );
  }
  if (root.openapi === undefined) {
    throw new OpenApiError(
      `it is not an OpenAPI document: it has no "openapi" version (it is ${describeJson(root)})`,
      [],
      'Import the document that the service publishes, often as openapi.json.',
    );
  }
  throw new OpenApiError(`its version ${JSON.stringify(root.openapi)} is not supported; OpenAPI 3.0 and 3.1 are`, [
    'openapi',
  ]);
}

/** Accepts numbers: YAML parses `openapi: 3.0` as 3. */
function isSupported(version: unknown): boolean {
  return typeof version === 'number'
    ? version === 3 || version === 3.1
    : /^3\.[01](\.\d+)?(-\w+)?$/.test(jsonText(version));
}

/**
 * Opens a parsed OpenAPI 3.0 or 3.1 document.
 * @throws OpenApiError if it is another kind of document, is too large, or has references to other documents
 */
export function openDocument(root: unknown): OpenApiDocument {
  if (!isJsonObject(root)) {
    throw new OpenApiError(`it is not an OpenAPI document, but ${describeJson(root)}`);
  }
  if (!isSupported(root.openapi) || root.swagger !== undefined) rejectVersion(root);
  checkValues(root);
  if (!isJsonObject(root.paths) || Object.keys(root.paths).length === 0) {
    throw new OpenApiError('it describes no paths', 'paths' in root ? ['paths'] : []);
  }
  return new OpenApiDocument(root);
}
