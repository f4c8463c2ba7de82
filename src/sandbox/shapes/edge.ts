import { OPERATIONS, type Operation } from '../contract/operations.ts';
import { isDocumentPath } from '../contract/routes.ts';
import { isAlreadySent } from '../fault-middleware.ts';
import { Problem } from '../problem.ts';
import { readJson } from '../request-body.ts';
import { type Bindings, commonHeaders, createId, type Service, timestamp } from '../service.ts';
import { isFields, type Json } from './json.ts';
import type { PageRequest } from './paging.ts';
import { decodeBody, methodOf, parameterNames } from './requests.ts';
import {
  errorResponse,
  listResponse,
  readError,
  resourceResponse,
  type ShapedResponse,
  toErrorDetails,
} from './responses.ts';
import type { Shape, ShapedRequest } from './shape.ts';

export type Fetch = (request: Request, env: Bindings) => Response | Promise<Response>;

/** Whether a request asks for the plain shape, so that a test can compare a dialect with it. */
export function isPlain(request: Request): boolean {
  return request.headers.get('Sandbox-Shape') === 'plain';
}

const BASE = '/v1';

/** A request to an operation of the service. */
interface Call {
  readonly shape: Shape;
  readonly service: Service;
  readonly operation: Operation;
  readonly request: Request;
  readonly url: URL;
  readonly env: Bindings;
}

function pathPattern({ path }: Operation): RegExp {
  return new RegExp(`^${BASE}${path.replace(/\{\w+\}/g, '[^/]+')}$`);
}

function toResponse({ status, body, mediaType, headers }: ShapedResponse, common: Headers): Response {
  const merged = new Headers(common);
  for (const name of ['content-length', 'content-type']) merged.delete(name);
  for (const [name, value] of Object.entries(headers)) merged.set(name, value);
  if (body !== undefined) merged.set('Content-Type', mediaType);
  return new Response(body === undefined ? null : JSON.stringify(body), { status, headers: merged });
}

/** Refuses a request that did not reach the service. */
function refuse(service: Service, shape: Shape, problem: Problem): Response {
  const request_id = createId('req');
  const refusal = errorResponse(shape, toErrorDetails(problem, request_id));
  return toResponse(
    { ...refusal, headers: { ...problem.details.headers } },
    new Headers(commonHeaders(service, request_id)),
  );
}

/** The parameters of a read, from its query or its JSON body. */
async function readParameters({ request, url, env, service }: Call): Promise<Map<string, string>> {
  if (request.method !== 'POST') return new Map(url.searchParams);
  const { value } = await readJson(env.incoming, { maxBytes: 65_536, timeoutMs: service.clientTimeoutMs });
  if (!isFields(value)) throw new Problem(422, 'invalid_input', 'Invalid input: the body must be an object.');
  const given = Object.entries(value).filter(([, each]) => each !== null);
  return new Map(given.map(([name, each]) => [name, String(each)]));
}

/** Converts a request to the plain shape, without paging: the edge pages lists itself. */
function toPlainRequest({ shape, operation, request, url }: Call, parameters: ReadonlyMap<string, string>): Request {
  const plain = new URL(url);
  plain.search = '';
  if (!plain.pathname.endsWith('/')) plain.pathname += '/';
  for (const [own, name] of parameterNames(shape, operation)) {
    const value = parameters.get(name);
    if (own === 'after_message_id') continue;
    if (value !== undefined) plain.searchParams.set(own, value);
    else if (own === 'session_id' && shape.history?.ignoresSession) plain.searchParams.set(own, 'any');
  }
  return new Request(plain, { method: operation.method, headers: request.headers });
}

function createShapedRequest({ shape, operation, request, url }: Call): ShapedRequest {
  const shapedRequest: ShapedRequest = {
    received: { method: request.method, path: url.pathname, query: url.search.slice(1) },
    decodeBody: (value) => {
      if (!operation.body) return value;
      shapedRequest.isRefused = true;
      const decoded = decodeBody(shape, operation, operation.body, value);
      shapedRequest.isRefused = false;
      return decoded;
    },
    fileField: shape.request?.file ?? 'file',
    isUnpaged: operation.returns === 'list',
    ignoresSession: shape.history?.ignoresSession ?? false,
  };
  return shapedRequest;
}

function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Converts a plain response to the shape; undefined for a body that is sent as it is. */
function translate(
  call: Call,
  { status, body }: { status: number; body: Json },
  page: PageRequest,
  isRefused?: boolean,
) {
  const { shape, operation, url } = call;
  if (status >= 400) {
    const error = readError(shape, operation, { status, body, isRefused });
    return error && errorResponse(shape, error);
  }
  if (!isFields(body)) return undefined;
  if (operation.returns === 'one') return resourceResponse(shape, operation, { status, resource: body }, url.pathname);
  return Array.isArray(body.results) ? listResponse(shape, operation, body.results, page) : undefined;
}

async function handleCall(call: Call, fetchPlain: Fetch): Promise<Response> {
  const { shape, service, request, url, env, operation } = call;
  const parameters = operation.returns === 'list' ? await readParameters(call) : new Map<string, string>();
  const shapedRequest = createShapedRequest(call);
  const response = await fetchPlain(toPlainRequest(call, parameters), { ...env, shaped: shapedRequest });
  if (isAlreadySent(response)) return response;
  const text = await response.text();
  const body = parseJson(text);
  const path = shape.redirect ? url.pathname.replace(/\/$/, '') : url.pathname;
  const defaultSize = service.store.world.settings.page_size;
  const page: PageRequest = { parameters, url: `${service.origin}${path}`, defaultSize };
  const { status, headers } = response;
  let shaped: ShapedResponse | undefined;
  try {
    shaped = body === undefined ? undefined : translate(call, { status, body }, page, shapedRequest.isRefused);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    shaped = errorResponse(shape, toErrorDetails(error, headers.get('x-request-id') ?? ''));
  }
  if (!shaped) return new Response(text, { status, headers });
  const { entry } = env.logged;
  if (entry) entry.status = shaped.status;
  if (entry && request.method === 'POST' && operation.returns === 'list') {
    entry.body = Object.fromEntries(parameters);
  }
  return toResponse(shaped, headers);
}

/** A redirect that adds or drops the trailing slash; undefined if the shape does not redirect this path. */
function redirect(service: Service, { redirect: trait }: Shape, request: Request, url: URL): Response | undefined {
  if (!trait || url.pathname.endsWith('/') === (trait.slash === 'add')) return undefined;
  const path = trait.slash === 'add' ? `${url.pathname}/` : url.pathname.replace(/\/$/, '');
  const request_id = createId('req');
  const entry = service.log.add({
    at: timestamp(service),
    request_id,
    method: request.method,
    path: url.pathname,
    query: url.search.slice(1),
    route: `${BASE}/*`,
  });
  entry.status = trait.status;
  const Location = `${trait.isPath ? '' : service.origin}${path}${url.search}`;
  return new Response(null, { status: trait.status, headers: { ...commonHeaders(service, request_id), Location } });
}

/**
 * Puts a shape around the service: converts requests to the plain shape, and the responses back.
 * @param fetchPlain responds in the plain shape
 */
export function createEdge(service: Service, shape: Shape, fetchPlain: Fetch): Fetch {
  const operations = OPERATIONS.map((operation) => ({ operation, pattern: pathPattern(operation) }));
  return async (request, env) => {
    const url = new URL(request.url);
    if (isPlain(request) || !url.pathname.startsWith(`${BASE}/`) || isDocumentPath(url.pathname))
      return fetchPlain(request, env);
    const path = url.pathname.endsWith('/') || !shape.redirect ? url.pathname : `${url.pathname}/`;
    const candidates = operations.filter(({ pattern }) => pattern.test(path)).map(({ operation }) => operation);
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const operation = candidates.find((candidate) => methodOf(shape, candidate) === method);
    try {
      const redirected = candidates.length > 0 && redirect(service, shape, request, url);
      if (redirected) return redirected;
      if (operation) return await handleCall({ shape, service, operation, request, url, env }, fetchPlain);
      if (candidates.length === 0) throw new Problem(404, 'not_found', `There is nothing at ${url.pathname}.`);
      const Allow = candidates.map((each) => methodOf(shape, each)).join(', ');
      throw new Problem(405, 'method_not_allowed', `${method} is not allowed here. Use ${Allow}.`, {
        headers: { Allow },
      });
    } catch (error) {
      if (error instanceof Problem) return refuse(service, shape, error);
      throw error;
    }
  };
}
