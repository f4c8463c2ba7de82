import { isJsonObject, type JsonObject } from '../json.ts';
import { formatPointer, type OpenApiDocument, type Pointer } from './document.ts';
import { type Property, propertiesOf, type Shape, shapeOf } from './shape.ts';

const METHODS = [
  ['get', 'GET'],
  ['post', 'POST'],
  ['put', 'PUT'],
  ['patch', 'PATCH'],
] as const;

/** A parameter in the path, the query, or a header. */
export interface EndpointParameter {
  readonly name: string;
  readonly place: 'path' | 'query' | 'header' | 'cookie';
  readonly isRequired: boolean;
  readonly shape: Shape;
}

/** The body of a request or a response, of one media type. */
export interface Content {
  readonly mediaType: string;
  readonly shape: Shape;
}

/** One operation of a document. */
export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  /** Relative to the base URL. */
  readonly path: string;
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly isDeprecated: boolean;
  readonly parameters: readonly EndpointParameter[];
  /** The JSON body, if the operation takes one. */
  readonly json: Content | undefined;
  /** The multipart form, if the operation takes one. */
  readonly form: Content | undefined;
  /** The JSON body of the success response. */
  readonly response: Content | undefined;
  /** The names of the headers of the success response. */
  readonly responseHeaders: readonly string[];
  /** The JSON body of an error. */
  readonly errorResponse: Content | undefined;
  /** Where it is in the document: `#/paths/~1spaces/get`. */
  readonly pointer: string;
}

/** How deep the properties of bodies are read. */
const BODY_DEPTH = 5;

/** Returns the properties of a body; those of the items under `[]` if the body is a list. */
export function contentProperties(document: OpenApiDocument, content: Content | undefined): readonly Property[] {
  return content === undefined ? [] : propertiesOf(document, content.shape, BODY_DEPTH);
}

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
    const { name, in: place } = parameter ?? {};
    if (parameter === undefined || typeof name !== 'string' || !isPlace(place)) continue;
    const content = isJsonObject(parameter.content)
      ? document.resolve(Object.values(parameter.content)[0])?.schema
      : undefined;
    found.set(`${place} ${name}`, {
      name,
      place,
      isRequired: parameter.required === true || place === 'path',
      shape: shapeOf(document, [parameter.schema ?? content, { description: textOf(parameter.description) }]),
    });
  }
  return [...found.values()];
}

const JSON_TYPE = /^(application|text)\/([\w.+-]*\+)?json\b|^\*\/\*$|^application\/\*$/i;
const FORM_TYPE = /^multipart\//i;

function contentIn(document: OpenApiDocument, holder: JsonObject | undefined, type: RegExp): Content | undefined {
  const content = isJsonObject(holder?.content) ? holder.content : {};
  for (const [mediaType, given] of Object.entries(content)) {
    const media = type.test(mediaType) ? document.resolve(given) : undefined;
    if (media?.schema !== undefined) return { mediaType, shape: shapeOf(document, [media.schema]) };
  }
  return undefined;
}

/** @param isRead for a write, the 201 has the created resource; its 200 may be an error */
function responsesIn(document: OpenApiDocument, operation: JsonObject, isRead: boolean) {
  const responses = isJsonObject(operation.responses) ? operation.responses : {};
  const named = (pattern: RegExp) =>
    Object.entries(responses).flatMap(([status, given]) => {
      const response = pattern.test(status) ? document.resolve(given) : undefined;
      return response === undefined ? [] : [response];
    });
  // Without a success status, the default may be the success.
  const usual = isRead ? named(/^200$/) : named(/^201$/);
  const successes = [...usual, ...named(/^2(0[0-6]|xx)$/i), ...(named(/^2/).length === 0 ? named(/^default$/) : [])];
  const success = successes.find((each) => contentIn(document, each, JSON_TYPE)) ?? successes[0];
  const failures = [...named(/^4(\d\d|xx)$/i), ...named(/^5(\d\d|xx)$/i), ...named(/^default$/)];
  return {
    response: contentIn(document, success, JSON_TYPE),
    responseHeaders: isJsonObject(success?.headers) ? Object.keys(success.headers) : [],
    errorResponse: failures.map((each) => contentIn(document, each, JSON_TYPE)).find((each) => each !== undefined),
  };
}

/** Returns the path of a server URL, with the defaults of its variables: `https://{host}/v1` gives `/v1`. */
function serverPath(server: JsonObject): string {
  const variables = isJsonObject(server.variables) ? server.variables : {};
  const url = textOf(server.url).replace(/\{([^{}]*)\}/g, (_, name: string) => {
    const variable = Object.hasOwn(variables, name) ? variables[name] : undefined;
    return isJsonObject(variable) ? textOf(variable.default) : '';
  });
  return (URL.canParse(url, 'https://host.invalid') ? new URL(url, 'https://host.invalid').pathname : '').replace(
    /\/+$/,
    '',
  );
}

/**
 * Returns a path relative to the base URL. Servers, gateways, and the paths themselves may repeat the base path.
 * @param basePath the path of the base URL, such as `/v1`
 */
function relativePath(path: string, server: string, basePath: string): string {
  const inner = (full: string, prefix: string): string | undefined =>
    full.startsWith(`${prefix}/`) ? full.slice(prefix.length) : undefined;
  // .NET documents versions as a placeholder: /api/v{version}/spaces.
  const version = `/${basePath.split('/').at(-1) ?? ''}`;
  const full = (server + path).replace(/\/v\{[^{}]*\}\//, `${version}/`);
  const at = full.indexOf(`${version}/`);
  return inner(full, basePath) ?? (at === -1 ? path : full.slice(at + version.length));
}

function serverOf(document: OpenApiDocument, holders: readonly JsonObject[], basePath: string): string {
  const servers = holders
    .map((holder) => holder.servers)
    .filter(Array.isArray)
    .find((each) => each.length > 0);
  const given: readonly unknown[] = servers ?? [];
  const paths = given.map((each) => serverPath(document.resolve(each) ?? {}));
  return paths.find((path) => path === basePath || path.endsWith(basePath)) ?? paths[0] ?? '';
}

function pathItems(document: OpenApiDocument): (readonly [string, JsonObject])[] {
  const paths = isJsonObject(document.root.paths) ? document.root.paths : {};
  return Object.entries(paths).flatMap(([path, given]) => {
    const item = path.startsWith('/') ? document.resolve(given) : undefined;
    return item === undefined ? [] : [[path, item] as const];
  });
}

/**
 * Returns the operations of a document.
 * @param basePath the path of the service's base URL, such as `/v1`
 * @throws OpenApiError for references that cannot be resolved
 */
export function endpointsOf(document: OpenApiDocument, basePath: string): readonly Endpoint[] {
  return pathItems(document).flatMap(([path, item]) =>
    METHODS.flatMap(([key, method]): Endpoint[] => {
      const operation = document.resolve(item[key]);
      if (operation === undefined) return [];
      const server = serverOf(document, [operation, item, document.root], basePath);
      const body = document.resolve(operation.requestBody);
      const pointer: Pointer = ['paths', path, key];
      return [
        {
          method,
          path: relativePath(path, server, basePath),
          operationId: textOf(operation.operationId),
          tags: (Array.isArray(operation.tags) ? operation.tags : []).map(textOf),
          isDeprecated: operation.deprecated === true,
          parameters: parametersIn(document, item, operation),
          json: contentIn(document, body, JSON_TYPE),
          form: contentIn(document, body, FORM_TYPE),
          ...responsesIn(document, operation, method === 'GET'),
          pointer: formatPointer(pointer),
        },
      ];
    }),
  );
}
