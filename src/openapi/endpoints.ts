import { isJsonObject, type JsonObject } from '../contract/json.ts';
import { type OperationValue, parseOperation } from '../contract/leaf-value.ts';
import { isLeafName, LEAVES, type OperationLeaf } from '../contract/leaves.ts';
import type { OpenApiDocument } from './document.ts';
import { isPrintable, type Shape, shapeOf } from './schema.ts';

/** A parameter in the path, the query, or a header. */
export interface EndpointParameter {
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
  readonly parameters: readonly EndpointParameter[];
  /** The JSON body, if the operation takes one. */
  readonly json: Shape | undefined;
  /** The multipart form, if the operation takes one. */
  readonly form: Shape | undefined;
  /** The schema of the JSON body of the success response. */
  readonly response: unknown;
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

function schemaIn(document: OpenApiDocument, holder: JsonObject | undefined, type: RegExp): unknown {
  const content = isJsonObject(holder?.content) ? holder.content : {};
  const schemas = Object.entries(content).map(([mediaType, given]) =>
    type.test(mediaType) ? document.resolve(given)?.schema : undefined,
  );
  return schemas.find((schema) => schema !== undefined);
}

function shapeIn(document: OpenApiDocument, holder: JsonObject | undefined, type: RegExp): Shape | undefined {
  const schema = schemaIn(document, holder, type);
  return schema === undefined ? undefined : shapeOf(document, [schema]);
}

/** @param isRead for a write, the 201 has the created resource; its 200 may be an error, and its 202 an operation */
function responseIn(document: OpenApiDocument, operation: JsonObject, isRead: boolean) {
  const responses = isJsonObject(operation.responses) ? operation.responses : {};
  const statuses = Object.keys(responses).filter((status) => /^2/.test(status));
  const ordered = isRead
    ? statuses
    : statuses.toSorted((one, other) => Number(other === '201') - Number(one === '201'));
  const successes = ordered.map((status) => document.resolve(responses[status]));
  const success = successes.find((each) => schemaIn(document, each, JSON_TYPE)) ?? successes[0];
  return {
    response: schemaIn(document, success, JSON_TYPE),
    responseHeaders: isJsonObject(success?.headers) ? Object.keys(success.headers) : [],
  };
}

function segmentsOf(path: string): readonly string[] {
  return path.split('/').filter((segment) => segment !== '');
}

function isPlaceholder(segment: string): boolean {
  return /^\{[^{}]*\}$/.test(segment);
}

/** Returns the segments before those of the spec; undefined if it is another path. */
function prefixOf(path: string, specPath: string): readonly string[] | undefined {
  const [segments, own] = [segmentsOf(path), segmentsOf(specPath)];
  const prefix = segments.slice(0, Math.max(0, segments.length - own.length));
  const isSame = own.every((segment, index) => {
    const other = segments[prefix.length + index] ?? '';
    return isPlaceholder(segment) ? isPlaceholder(other) : segment === other;
  });
  return isSame ? prefix : undefined;
}

/** Whether the address of a server has the version. */
function hasVersionedServer({ root }: OpenApiDocument, version: string | undefined): boolean {
  const servers: readonly unknown[] = Array.isArray(root.servers) ? root.servers : [];
  return servers.some((server) => {
    const url = isJsonObject(server) ? server.url : undefined;
    return typeof url === 'string' && version !== undefined && segmentsOf(url).includes(version);
  });
}

interface Candidate {
  readonly item: JsonObject;
  /** Relative to the base URL. */
  readonly path: string;
  /** The number of segments that contradict the spec. */
  readonly extra: number;
}

/** Finds the paths of a document that end like one of the spec. */
function candidatesFor(document: OpenApiDocument, specPath: string, basePath: string): readonly Candidate[] {
  const paths = isJsonObject(document.root.paths) ? document.root.paths : {};
  const version = segmentsOf(basePath).at(-1);
  const isVersioned = hasVersionedServer(document, version);
  return Object.entries(paths).flatMap(([key, given]): Candidate[] => {
    const item = key.startsWith('/') ? document.resolve(given) : undefined;
    const before = prefixOf(key, specPath);
    if (item === undefined || before === undefined) return [];
    // .NET documents versions as a placeholder: /api/v{version}/automation/spaces.
    const at = before.findLastIndex((segment) => segment === version || /^v\{[^{}]*\}$/.test(segment));
    // What follows the version contradicts the spec. Where there is none, the base URL may have all of it.
    const extra = at === -1 && !isVersioned ? [] : before.slice(at + 1);
    const path = `/${[...extra, ...segmentsOf(specPath)].join('/')}${key.endsWith('/') ? '/' : ''}`;
    return [{ item, path, extra: extra.length }];
  });
}

function toEndpoint(document: OpenApiDocument, leaf: OperationLeaf, found: Found): Endpoint {
  const { item, operation, method, path } = found;
  const body = document.resolve(operation.requestBody);
  return {
    leaf,
    method,
    path,
    parameters: parametersIn(document, item, operation),
    json: shapeIn(document, body, JSON_TYPE),
    form: shapeIn(document, body, FORM_TYPE),
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
    const least = Math.min(...found.map(({ extra }) => extra));
    const best = found.filter(({ extra }) => extra === least);
    if (best.length > 0) return best.map((each) => toEndpoint(document, leaf, each));
  }
  return [];
}
