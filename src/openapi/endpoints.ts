import { isJsonObject, type JsonObject } from '../contract/json.ts';
import { type OperationValue, parseOperation } from '../contract/leaf-value.ts';
import { DEFAULTS, type OperationLeaf } from '../contract/leaves.ts';
import type { OpenApiDocument } from './document.ts';
import { isPrintable, type Shape, shapeOf } from './schema.ts';

/** A parameter beside the path and the body. */
export interface EndpointParameter {
  readonly name: string;
  readonly place: 'query' | 'header' | 'cookie';
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

/** Returns the parameters of an operation, which override those of the path item with the same name and place. */
function parametersIn(document: OpenApiDocument, item: JsonObject, operation: JsonObject): EndpointParameter[] {
  const found = new Map<string, EndpointParameter>();
  for (const given of [item.parameters, operation.parameters].flatMap((list) => (Array.isArray(list) ? list : []))) {
    const { name, in: place, required, schema } = document.resolve(given) ?? {};
    if (typeof name !== 'string' || !isPrintable(name)) continue;
    if (place !== 'query' && place !== 'header' && place !== 'cookie') continue;
    found.set(`${place} ${name}`, { name, place, isRequired: required === true, shape: shapeOf(document, [schema]) });
  }
  return [...found.values()];
}

const JSON_TYPE = /^(application|text)\/([\w.+-]*\+)?json\b|^\*\/\*$|^application\/\*$/i;
const FORM_TYPE = /^multipart\//i;

function schemaIn(document: OpenApiDocument, holder: JsonObject | undefined, type: RegExp): unknown {
  const content = Object.entries(isJsonObject(holder?.content) ? holder.content : {});
  const schemas = content.map(([mediaType, given]) =>
    type.test(mediaType) ? document.resolve(given)?.schema : undefined,
  );
  return schemas.find((schema) => schema !== undefined);
}

function shapeIn(document: OpenApiDocument, holder: JsonObject | undefined, type: RegExp): Shape | undefined {
  const schema = schemaIn(document, holder, type);
  return schema === undefined ? undefined : shapeOf(document, [schema]);
}

/** Of a write, the 201 has the created resource; its 200 may be an error, and its 202 an operation. */
function responseIn(document: OpenApiDocument, operation: JsonObject) {
  const responses = isJsonObject(operation.responses) ? operation.responses : {};
  const statuses = Object.keys(responses).filter((status) => status.startsWith('2'));
  const successes = ['201', ...statuses].map((status) => document.resolve(responses[status])).filter(isJsonObject);
  const success = successes.find((each) => schemaIn(document, each, JSON_TYPE)) ?? successes[0];
  return {
    response: schemaIn(document, success, JSON_TYPE),
    responseHeaders: isJsonObject(success?.headers) ? Object.keys(success.headers) : [],
  };
}

function segmentsOf(path: string): readonly string[] {
  return path.split('/').filter((segment) => segment !== '');
}

/** Returns the segments before those of the spec; undefined if it is another path. */
function prefixOf(path: string, specPath: string): readonly string[] | undefined {
  const [segments, own] = [segmentsOf(path), segmentsOf(specPath)];
  const prefix = segments.slice(0, Math.max(0, segments.length - own.length));
  const isPlaceholder = (segment: string) => /^\{[^{}]*\}$/.test(segment);
  const isSame = own.every((segment, index) => {
    const other = segments[prefix.length + index] ?? '';
    return isPlaceholder(segment) ? isPlaceholder(other) : segment === other;
  });
  return isSame ? prefix : undefined;
}

/** Whether the address of a server has the version. */
function hasVersionedServer({ root }: OpenApiDocument, version: string): boolean {
  const servers: readonly unknown[] = Array.isArray(root.servers) ? root.servers : [];
  const urls = servers.map((server) => (isJsonObject(server) ? server.url : undefined));
  return urls.some((url) => typeof url === 'string' && segmentsOf(url).includes(version));
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
  const version = segmentsOf(basePath).at(-1) ?? '';
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

/**
 * Finds an operation of the tool in a document, by its path in the spec (§4): what is before it, the version, and the
 * trailing slash do not matter.
 * @param basePath the path of the service's base URL, such as `/v1`
 * @returns the endpoint; several if the document has the path behind different prefixes; none if it does not have it
 * @throws OpenApiError for references that cannot be followed
 */
export function findEndpoints(document: OpenApiDocument, leaf: OperationLeaf, basePath: string): readonly Endpoint[] {
  const spec = parseOperation(DEFAULTS[leaf]);
  if (spec === undefined) return [];
  const candidates = candidatesFor(document, spec.path, basePath);
  for (const method of OPEN_METHODS[leaf] ?? [spec.method]) {
    const found = candidates.flatMap(({ item, path, extra }) => {
      const operation = document.resolve(item[method.toLowerCase()]);
      if (operation === undefined) return [];
      const body = document.resolve(operation.requestBody);
      const endpoint = () => ({
        leaf,
        method,
        path,
        parameters: parametersIn(document, item, operation),
        json: shapeIn(document, body, JSON_TYPE),
        form: shapeIn(document, body, FORM_TYPE),
        ...responseIn(document, operation),
      });
      return [{ extra, endpoint }];
    });
    const least = Math.min(...found.map(({ extra }) => extra));
    const best = found.filter(({ extra }) => extra === least);
    if (best.length > 0) return best.map(({ endpoint }) => endpoint());
  }
  return [];
}
