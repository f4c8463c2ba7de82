import { OPERATIONS, type Operation } from '../contract/operations.ts';
import { isDocumentPath } from '../contract/routes.ts';
import { isAlreadySent } from '../fault-middleware.ts';
import { Problem } from '../problem.ts';
import { readJson } from '../request-body.ts';
import { type Bindings, commonHeaders, createId, type Service, timestamp } from '../service.ts';
import { type Answer, answerError, answerList, answerOne, readError, toErrorFacts } from './answers.ts';
import type { Exchange } from './exchange.ts';
import { isFields, type Json } from './json.ts';
import type { PageRequest } from './paging.ts';
import { decodeBody, methodOf, parameterNames } from './requests.ts';
import type { Shape } from './shape.ts';

export type Fetch = (request: Request, env: Bindings) => Response | Promise<Response>;

/** Whether a request asks for the service's own shape, so that a test can compare a dialect with it. */
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

function send({ status, body, mediaType, headers }: Answer, common: Headers): Response {
  const merged = new Headers(common);
  for (const name of ['content-length', 'content-type']) merged.delete(name);
  for (const [name, value] of Object.entries(headers)) merged.set(name, value);
  if (body !== undefined) merged.set('Content-Type', mediaType);
  return new Response(body === undefined ? null : JSON.stringify(body), { status, headers: merged });
}

/** Refuses a request that did not reach the service. */
function refuse(service: Service, shape: Shape, problem: Problem): Response {
  const request_id = createId('req');
  const answer = answerError(shape, toErrorFacts(problem, request_id));
  return send({ ...answer, headers: { ...problem.details.headers } }, new Headers(commonHeaders(service, request_id)));
}

/** The parameters of a read: of its query, or of its JSON body. */
async function readParameters({ request, url, env, service }: Call): Promise<Map<string, string>> {
  if (request.method !== 'POST') return new Map(url.searchParams);
  const { value } = await readJson(env.incoming, { maxBytes: 65_536, timeoutMs: service.clientTimeoutMs });
  if (!isFields(value)) throw new Problem(422, 'invalid_input', 'Invalid input: the body must be an object.');
  const given = Object.entries(value).filter(([, each]) => each !== null);
  return new Map(given.map(([name, each]) => [name, String(each)]));
}

/** The request to the service in its own shape. Lists are asked for whole. */
function toPlainRequest({ shape, operation, request, url }: Call, parameters: ReadonlyMap<string, string>): Request {
  const plain = new URL(url);
  plain.search = '';
  if (!plain.pathname.endsWith('/')) plain.pathname += '/';
  for (const [own, name] of parameterNames(shape, operation)) {
    const value = parameters.get(name);
    if (own === 'after_message_id') continue;
    if (value !== undefined) plain.searchParams.set(own, value);
    else if (own === 'session_id' && shape.history?.isEverySession) plain.searchParams.set(own, 'any');
  }
  return new Request(plain, { method: operation.method, headers: request.headers });
}

function createExchange({ shape, operation, request, url }: Call): Exchange {
  const exchange: Exchange = {
    received: { method: request.method, path: url.pathname, query: url.search.slice(1) },
    decodeBody: (value) => {
      if (!operation.body) return value;
      exchange.isRefused = true;
      const decoded = decodeBody(shape, operation, operation.body, value);
      exchange.isRefused = false;
      return decoded;
    },
    fileField: shape.request?.file ?? 'file',
    isWhole: operation.answers === 'list',
    isEverySession: shape.history?.isEverySession ?? false,
  };
  return exchange;
}

function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Converts an answer to the shape. @param body the answer of the service */
function translate(
  call: Call,
  { status, body }: { status: number; body: Json },
  page: PageRequest,
  isRefused?: boolean,
) {
  const { shape, operation, url } = call;
  if (status >= 400) {
    const facts = readError(shape, operation, { status, body, isRefused });
    return facts && answerError(shape, facts);
  }
  if (!isFields(body)) return undefined;
  if (operation.answers === 'one') return answerOne(shape, operation, { status, resource: body }, url.pathname);
  return Array.isArray(body.results) ? answerList(shape, operation, body.results, page) : undefined;
}

async function carryOut(call: Call, fetchPlain: Fetch): Promise<Response> {
  const { shape, service, request, url, env, operation } = call;
  const parameters = operation.answers === 'list' ? await readParameters(call) : new Map<string, string>();
  const exchange = createExchange(call);
  const response = await fetchPlain(toPlainRequest(call, parameters), { ...env, exchange });
  if (isAlreadySent(response)) return response;
  const text = await response.text();
  const body = parseJson(text);
  const path = shape.redirect ? url.pathname.replace(/\/$/, '') : url.pathname;
  const defaultSize = service.store.world.settings.page_size;
  const page: PageRequest = { parameters, url: `${service.origin}${path}`, defaultSize };
  const { status, headers } = response;
  let answer: Answer | undefined;
  try {
    answer = body === undefined ? undefined : translate(call, { status, body }, page, exchange.isRefused);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    answer = answerError(shape, toErrorFacts(error, headers.get('x-request-id') ?? ''));
  }
  if (!answer) return new Response(text, { status, headers });
  const { entry } = env.logged;
  if (entry) entry.status = answer.status;
  if (entry && request.method === 'POST' && operation.answers === 'list') {
    entry.body = Object.fromEntries(parameters);
  }
  return send(answer, headers);
}

/** A redirect to the address with, or without, the trailing slash; undefined if the shape does not redirect. */
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
 * Puts a shape around the service: requests get the service's own names on the way in, answers those of the shape on the
 * way out.
 * @param fetchPlain answers in the service's own shape
 */
export function createEdge(service: Service, shape: Shape, fetchPlain: Fetch): Fetch {
  const operations = OPERATIONS.map((operation) => ({ operation, pattern: pathPattern(operation) }));
  return async (request, env) => {
    const url = new URL(request.url);
    if (isPlain(request) || !url.pathname.startsWith(`${BASE}/`) || isDocumentPath(url.pathname))
      return fetchPlain(request, env);
    const path = url.pathname.endsWith('/') || !shape.redirect ? url.pathname : `${url.pathname}/`;
    const here = operations.filter(({ pattern }) => pattern.test(path)).map(({ operation }) => operation);
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const operation = here.find((candidate) => methodOf(shape, candidate) === method);
    try {
      const redirected = here.length > 0 && redirect(service, shape, request, url);
      if (redirected) return redirected;
      if (operation) return await carryOut({ shape, service, operation, request, url, env }, fetchPlain);
      if (here.length === 0) throw new Problem(404, 'not_found', `There is nothing at ${url.pathname}.`);
      const Allow = here.map((each) => methodOf(shape, each)).join(', ');
      throw new Problem(405, 'method_not_allowed', `${method} is not allowed here. Use ${Allow}.`, {
        headers: { Allow },
      });
    } catch (error) {
      if (error instanceof Problem) return refuse(service, shape, error);
      throw error;
    }
  };
}
