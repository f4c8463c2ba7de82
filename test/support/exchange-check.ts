import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { createDocument } from '../../src/sandbox/contract/document.ts';
import type { Document } from '../../src/sandbox/contract/openapi.ts';
import type { ObservedExchange } from '../../src/sandbox/observe.ts';
import { findShape, PLAIN } from '../../src/sandbox/shapes/shapes.ts';

/** Returns what an exchange contains that the service's document does not allow; nothing if they agree. */
export type ExchangeCheck = (exchange: ObservedExchange) => readonly string[];

type Described = NonNullable<Document['paths'][string][string]>;

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The same schemas, but an object may have no other fields than the documented ones. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (!isObject(value)) return value;
  if (Array.isArray(value.allOf)) return { ...value, unevaluatedProperties: false };
  // The parts of a composed object do not know each other's fields.
  const isPart = (name: string): boolean => name === 'Page';
  const copy = Object.fromEntries(
    Object.entries(value).map(([key, child]) => [key, isPart(key) ? child : closed(child)]),
  );
  const isOpen = copy.type === 'object' && isObject(copy.properties) && copy.additionalProperties === undefined;
  return isOpen ? { ...copy, additionalProperties: false } : copy;
}

function pointer(...segments: readonly string[]): string {
  return segments.map((segment) => encodeURIComponent(segment.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

class DocumentedService {
  readonly #document: Document;
  readonly #isStrict: boolean;
  readonly #ajv = new Ajv2020({
    strict: false,
    logger: false,
    // Compiling takes longer than checking.
    validateSchema: false,
    inlineRefs: false,
    code: { optimize: false },
  });
  readonly #validators = new Map<string, ValidateFunction>();
  readonly #paths: readonly { pattern: RegExp; path: string }[];

  constructor(document: Document, isStrict: boolean) {
    this.#document = document;
    this.#isStrict = isStrict;
    addFormats.default(this.#ajv);
    this.#ajv.addFormat('binary', true);
    this.#ajv.addSchema({ $id: 'document', ...(closed(document) as object) });
    this.#paths = Object.keys(document.paths).map((path) => ({
      path,
      pattern: new RegExp(`^/v1${path.replace(/\{\w+\}/g, '[^/]+')}$`),
    }));
  }

  /** Compiles a schema once, wherever it is used: compiling takes longer than everything else. */
  #validator(place: readonly string[]): ValidateFunction {
    const text = JSON.stringify(place.reduce<unknown>((at, name) => (isObject(at) ? at[name] : at), this.#document));
    const known = this.#validators.get(text);
    if (known) return known;
    const compiled = this.#ajv.compile({ $ref: `document#/${pointer(...place)}` });
    this.#validators.set(text, compiled);
    return compiled;
  }

  #errors(value: unknown, ...place: readonly string[]): readonly string[] {
    const validate = this.#validator(place);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message, params }) =>
      `${instancePath} ${message} ${JSON.stringify(params)}`.trim(),
    );
  }

  #isError(body: unknown): boolean {
    return this.#errors(body, 'components', 'schemas', 'Error').length === 0;
  }

  #checkResponse(
    { status, headers, body }: ObservedExchange,
    method: string,
    place: readonly string[],
    described: Described,
  ) {
    const { responses } = described;
    const key = responses[String(status)] ? String(status) : 'default';
    if (status < 400 && key === 'default') return [`status ${status} is not documented`];
    const response = responses[key];
    const at = response && '$ref' in response ? response.$ref.slice(2).split('/') : [...place, 'responses', key];
    const found = response && '$ref' in response ? this.#document.components.responses[at.at(-1) ?? ''] : response;
    const missing = Object.entries(found?.headers ?? {}).flatMap(([name, header]) =>
      header.required && !headers.has(name) ? [`the header ${name} is missing`] : [],
    );
    const [type] = Object.keys(found?.content ?? {});
    if (method === 'HEAD') return missing;
    if (type === undefined) return body === '' ? missing : [...missing, 'there is an undocumented body'];
    if (headers.get('content-type') !== type) return [...missing, `its type is ${headers.get('content-type')}`];
    return [...missing, ...this.#errors(parseJson(body), ...at, 'content', type, 'schema')];
  }

  /**
   * An accepted request must be one that the document allows. Unknown parameters are a mistake only in the service's own shape:
   * in others a client tries them out.
   */
  #checkRequest({ request }: ObservedExchange, place: readonly string[], { parameters, requestBody }: Described) {
    const query = new URLSearchParams(request.query);
    const inQuery = parameters.filter((parameter) => parameter.in === 'query');
    const isUnknown = (name: string): boolean => inQuery.every((parameter) => parameter.name !== name);
    const unknown = this.#isStrict ? [...query.keys()].filter(isUnknown) : [];
    const missing = inQuery.filter(({ name, required }) => required && !query.has(name));
    const problems = [
      ...unknown.map((name) => `the parameter ${name} is not documented`),
      ...missing.map(({ name }) => `the parameter ${name} is required`),
    ];
    const { 'application/json': json, 'multipart/form-data': form } = requestBody?.content ?? {};
    if (!json || form || request.body === null) return problems;
    const errors = this.#errors(request.body, ...place, 'requestBody', 'content', 'application/json', 'schema');
    return [...problems, ...errors.map((error) => `the request was accepted: ${error}`)];
  }

  check(exchange: ObservedExchange): readonly string[] {
    const { request, status, body } = exchange;
    // A response that a fault replaced is not the service's.
    if (request.fault !== null) return [];
    const path = this.#paths.find(({ pattern }) => pattern.test(request.path))?.path;
    const method = request.method === 'HEAD' ? 'get' : request.method.toLowerCase();
    const described = path === undefined ? undefined : this.#document.paths[path]?.[method];
    if (path === undefined || !described) {
      return status < 400
        ? ['there is no such operation']
        : request.method === 'HEAD'
          ? []
          : this.#errors(parseJson(body), 'components', 'schemas', 'Error');
    }
    const place = ['paths', path, method];
    const isSuccess = status < 300 && !this.#isError(parseJson(body));
    return [
      ...this.#checkResponse(exchange, request.method, place, described),
      ...(isSuccess ? this.#checkRequest(exchange, place, described) : []),
    ];
  }
}

/** Compiling schemas takes longer than using them. */
const services = new Map<string, DocumentedService>();

/** The check of exchanges against the document of a shape. */
export function exchangeCheck(shapeName = 'plain'): ExchangeCheck {
  const shape = findShape(shapeName);
  if (!shape) throw new Error(`There is no shape ${shapeName}.`);
  const service =
    services.get(shapeName) ?? new DocumentedService(createDocument(shape, 'http://127.0.0.1'), shape === PLAIN);
  services.set(shapeName, service);
  return (exchange) => service.check(exchange);
}
