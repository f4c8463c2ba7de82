import { isJsonObject, type JsonObject } from '../contract/json.ts';
import { type OperationValue, parseOperation } from '../contract/leaf-value.ts';
import { isLeafName, LEAVES, type OperationLeaf } from '../contract/leaves.ts';
import type { OpenApiDocument } from './document.ts';
import { isPrintable, type Shape, shapeOf } from './schema.ts';

/** A parameter in the path, the query, or a header. */
interface EndpointParameter {
  readonly name: string;
  readonly place: 'path' | 'query' | 'header' | 'cookie';
  readonly isRequired: boolean;
  readonly shape: Shape;
}

/** An operation of the tool in a document. */
export interface Endpoint {
  readonly leaf: OperationLeaf;
  readonly method: OperationValue['method'];
  /** Relative to the base URL, with the tool's names for path parameters. */
  readonly path: string;
  readonly operationId: string;
  readonly parameters: readonly EndpointParameter[];
  /** The JSON body, if the operation takes one. */
  readonly json: Shape | undefined;
  /** The multipart form, if the operation takes one. */
  readonly form: Shape | undefined;
  /** The JSON body of the success response. */
  readonly response: Shape | undefined;
  /** The names of the headers of the success response. */
  readonly responseHeaders: readonly string[];
}

/** The methods that a document may give an operation whose method the spec leaves open (spec §4.7), the usual one first. */
const OPEN_METHODS: Partial<Record<OperationLeaf, readonly OperationValue['method'][]>> = {
  'messages.history': ['GET', 'POST'],
  'documents.create': ['POST', 'PUT'],
  'file_attachments.create': ['POST', 'PUT'],
};

function isOperationLeaf(name: string): name is OperationLeaf {
  return isLeafName(name) && LEAVES[name].kind === 'operation';
}

/** The leaves of all operations. */
export const OPERATION_LEAVES: readonly OperationLeaf[] = Object.keys(LEAVES).filter(isOperationLeaf);

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function isPlace(value: unknown): value is EndpointParameter['place'] {
  return value === 'path' || value === 'query' || value === 'header' || value === 'cookie';
}

/** Returns the parameters of an operation, which override those of the path item with the same name and place. */
function parametersIn(document: OpenApiDocument, item: JsonObject, operation: JsonObject): EndpointParameter[] {
  const found = new Map<string, EndpointParameter>();
  for (const given of [item.parameters, operation.parameters].flatMap((list) => (Array.isArray(list) ? list : []))) {
    const parameter = document.resolve(given);
    const { name, in: place, required } = parameter ?? {};
    if (parameter === undefined || typeof name !== 'string' || !isPrintable(name) || !isPlace(place)) continue;
    found.set(`${place} ${name}`, {
      name,
      place,
      isRequired: required === true || place === 'path',
      shape: shapeOf(document, [parameter.schema]),
    });
  }
  return [...found.values()];
}

const JSON_TYPE = /^(application|text)\/([\w.+-]*\+)?json\b|^\*\/\*$|^application\/\*$/i;
const FORM_TYPE = /^multipart\//i;

function contentIn(document: OpenApiDocument, holder: JsonObject | undefined, type: RegExp): Shape | undefined {
  const content = isJsonObject(holder?.content) ? holder.content : {};
  for (const [mediaType, given] of Object.entries(content)) {
    const schema = type.test(mediaType) ? document.resolve(given)?.schema : undefined;
    if (schema !== undefined) return shapeOf(document, [schema]);
  }
  return undefined;
}

/** @param isRead for a write, the 201 has the created resource; its 200 may be an error */
function responseIn(document: OpenApiDocument, operation: JsonObject, isRead: boolean) {
  const responses = isJsonObject(operation.responses) ? operation.responses : {};
  const statuses = Object.keys(responses).filter((status) => /^2/.test(status));
  const successes = (isRead ? statuses : statuses.reverse()).map((status) => document.resolve(responses[status]));
  const success = successes.find((each) => contentIn(document, each, JSON_TYPE)) ?? successes[0];
  return {
    response: contentIn(document, success, JSON_TYPE),
    responseHeaders: isJsonObject(success?.headers) ? Object.keys(success.headers) : [],
  };
}

/** Returns the path of the server that is the base URL, or else of the first one; nothing for a URL with variables. */
function serverOf(document: OpenApiDocument, holders: readonly JsonObject[], basePath: string): string {
  const given = holders.map(({ servers }) => servers).find((servers) => Array.isArray(servers) && servers.length > 0);
  const servers: readonly unknown[] = Array.isArray(given) ? given : [];
  const paths = servers.map((each) => {
    const url = textOf(document.resolve(each)?.url);
    const isFixed = URL.canParse(url, 'https://host.invalid') && !url.includes('{');
    return isFixed ? new URL(url, 'https://host.invalid').pathname.replace(/\/+$/, '') : '';
  });
  return paths.find((path) => path.endsWith(basePath)) ?? paths[0] ?? '';
}

/**
 * Returns a path relative to the base URL; undefined if the document does not say where that is.
 * @param full with the path of the server
 * @param basePath the path of the base URL, such as `/v1`
 */
function relativePath(full: string, basePath: string): string | undefined {
  // .NET documents versions as a placeholder: /api/v{version}/automation/spaces.
  const version = `/${basePath.split('/').at(-1) ?? ''}/`;
  const versioned = full.replace(/\/v\{[^{}]*\}\//, version);
  if (versioned.startsWith(`${basePath}/`)) return versioned.slice(basePath.length);
  const at = versioned.indexOf(version);
  return version === '//' || at === -1 ? undefined : versioned.slice(at + version.length - 1);
}

function segmentsOf(path: string): readonly string[] {
  return path.split('/').filter((segment) => segment !== '');
}

const PLACEHOLDER = /^\{[^{}]*\}$/;

/** More than any prefix has segments. */
const CONTRADICTING = 1_000;

/** Returns how many segments a path has before those of the spec; undefined if it is another path. */
function prefixLength(path: string, specPath: string): number | undefined {
  const [segments, own] = [segmentsOf(path), segmentsOf(specPath)];
  const prefix = segments.length - own.length;
  const isSame = own.every((segment, index) => {
    const other = segments[prefix + index] ?? '';
    return PLACEHOLDER.test(segment) ? PLACEHOLDER.test(other) : segment === other;
  });
  return prefix >= 0 && isSame ? prefix : undefined;
}

interface Candidate {
  readonly item: JsonObject;
  /** Relative to the base URL. */
  readonly path: string;
  /** Lower is better: the spec's own path, one behind a prefix that may be the base URL, one that contradicts the spec. */
  readonly rank: number;
}

/** Finds the paths of a document that end like one of the spec, the best first. */
function candidatesFor(document: OpenApiDocument, specPath: string, basePath: string): readonly Candidate[] {
  const paths = isJsonObject(document.root.paths) ? document.root.paths : {};
  const own = segmentsOf(specPath);
  const found = Object.entries(paths).flatMap(([key, given]): Candidate[] => {
    const item = key.startsWith('/') ? document.resolve(given) : undefined;
    if (item === undefined) return [];
    const full = serverOf(document, [item, document.root], basePath) + key;
    const prefix = prefixLength(full, specPath);
    if (prefix === undefined) return [];
    const relative = relativePath(full, basePath);
    const extra = relative === undefined ? undefined : prefixLength(relative, specPath);
    // Where the document does not name the base URL, the spec says what follows it.
    const before = relative === undefined || extra === undefined ? [] : segmentsOf(relative).slice(0, extra);
    const path = `/${[...before, ...own].join('/')}${key.endsWith('/') ? '/' : ''}`;
    return [{ item, path, rank: extra === undefined ? 1 + prefix : extra * CONTRADICTING }];
  });
  return found.sort((one, other) => one.rank - other.rank);
}

function toEndpoint(document: OpenApiDocument, leaf: OperationLeaf, found: Found): Endpoint {
  const { item, operation, method, path } = found;
  const body = document.resolve(operation.requestBody);
  return {
    leaf,
    method,
    path,
    operationId: textOf(operation.operationId),
    parameters: parametersIn(document, item, operation),
    json: contentIn(document, body, JSON_TYPE),
    form: contentIn(document, body, FORM_TYPE),
    ...responseIn(document, operation, method === 'GET'),
  };
}

interface Found extends Candidate {
  readonly method: OperationValue['method'];
  readonly operation: JsonObject;
}

/**
 * Finds an operation of the tool in a document, by its path in the spec (§4): what is before it, the version, and the
 * trailing slash do not matter.
 * @param basePath the path of the service's base URL, such as `/v1`
 * @returns the endpoint; several if the document has the path behind different prefixes; none if it does not have it
 * @throws OpenApiError for references that cannot be followed
 */
export function findEndpoints(document: OpenApiDocument, leaf: OperationLeaf, basePath: string): readonly Endpoint[] {
  const spec = parseOperation(LEAVES[leaf].value);
  if (spec === undefined) return [];
  const candidates = candidatesFor(document, spec.path, basePath);
  for (const method of OPEN_METHODS[leaf] ?? [spec.method]) {
    const found = candidates.flatMap((candidate): Found[] => {
      const operation = document.resolve(candidate.item[method.toLowerCase()]);
      return operation === undefined ? [] : [{ ...candidate, method, operation }];
    });
    const best = found.filter(({ rank }) => rank === found[0]?.rank);
    if (best.length > 0) return best.map((each) => toEndpoint(document, leaf, each));
  }
  return [];
}
