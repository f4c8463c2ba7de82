import { $RefParser } from '@apidevtools/json-schema-ref-parser';
import { describeJson, isJsonObject, type JsonObject, jsonText } from '../contract/json.ts';

/** The keys of the path to a value in a document. */
export type Pointer = readonly string[];

/** A document that cannot be used. The message continues its name; see `openDocument`. */
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
const MAX_FOLLOWED = 100_000;

/** References are looked up in the document itself: nothing is read from the network or from files. */
const LOCAL_ONLY = { resolve: { external: false, file: false, http: false } } as const;

/** Visits every value without recursion. @throws OpenApiError beyond the limits */
function checkSize(root: unknown): void {
  const stack = [{ value: root, depth: 0 }];
  let count = 0;
  for (let visit = stack.pop(); visit !== undefined; visit = stack.pop()) {
    const { value, depth } = visit;
    if (depth > MAX_DEPTH) throw new OpenApiError(`values are nested deeper than ${MAX_DEPTH} levels`);
    for (const inner of typeof value === 'object' && value !== null ? Object.values(value) : []) {
      count += 1;
      if (count > MAX_VALUES) throw new OpenApiError(`it has more than ${MAX_VALUES.toLocaleString('en')} values`);
      if (typeof inner === 'object' && inner !== null) stack.push({ value: inner, depth: depth + 1 });
    }
  }
}

/** An OpenAPI document whose references lead to its own values. */
export class OpenApiDocument {
  readonly root: JsonObject;
  private readonly references: $RefParser['$refs'];
  private followed = 0;

  constructor(root: JsonObject, references: $RefParser['$refs']) {
    this.root = root;
    this.references = references;
  }

  /**
   * Returns an object after following its reference; undefined if there is no object. Keys beside a reference override those
   * of its target (OpenAPI 3.1).
   * @throws OpenApiError for a reference to nothing, to itself, or to another document
   */
  resolve(value: unknown): JsonObject | undefined {
    if (!isJsonObject(value)) return undefined;
    const { $ref: reference, ...beside } = value;
    if (typeof reference !== 'string') return value;
    const target = this.follow(reference);
    return isJsonObject(target) ? { ...target, ...beside } : undefined;
  }

  private follow(reference: string): unknown {
    const shown = `the reference ${JSON.stringify(reference.slice(0, 100))}`;
    if (!reference.startsWith('#')) {
      const hint = 'Bundle the document into one file first, for example with: npx @redocly/cli bundle';
      throw new OpenApiError(`${shown} points out of the document`, [], hint);
    }
    this.followed += 1;
    if (this.followed > MAX_FOLLOWED)
      throw new OpenApiError(`it has too many references; the last one was ${reference}`);
    const target = this.lookUp(reference);
    if (target === undefined) {
      const hint = 'References such as #/components/schemas/Space are followed.';
      throw new OpenApiError(`${shown} leads to nothing`, [], hint);
    }
    // The library leaves a reference as it is that leads back to itself.
    if (isJsonObject(target) && typeof target.$ref === 'string') throw new OpenApiError(`${shown} refers to itself`);
    return target;
  }

  private lookUp(reference: string): unknown {
    try {
      return this.references.get(reference);
    } catch {
      return undefined;
    }
  }
}

function refuseVersion(root: JsonObject): never {
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
 * Opens a parsed OpenAPI 3.0 or 3.1 document (spec §9).
 * @throws OpenApiError if it is another kind of document, is too large, or has references to other documents
 */
export async function openDocument(root: unknown): Promise<OpenApiDocument> {
  if (!isJsonObject(root)) throw new OpenApiError(`it is not an OpenAPI document, but ${describeJson(root)}`);
  if (!isSupported(root.openapi) || root.swagger !== undefined) refuseVersion(root);
  checkSize(root);
  if (!isJsonObject(root.paths) || Object.keys(root.paths).length === 0) {
    throw new OpenApiError('it describes no paths', 'paths' in root ? ['paths'] : []);
  }
  const parser = new $RefParser();
  await parser.resolve(root, LOCAL_ONLY);
  return new OpenApiDocument(root, parser.$refs);
}
