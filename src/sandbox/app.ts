import { setTimeout as pause } from 'node:timers/promises';
import { RequestError } from '@hono/node-server';
import { Hono, type MiddlewareHandler } from 'hono';
import { routePath } from 'hono/route';
import { adminRoutes } from './admin/routes.ts';
import { faultWire, isHandled } from './fault-wire.ts';
import { gate, scopeGate } from './gate.ts';
import { makeId } from './ids.ts';
import { Problem, problemBody } from './problem.ts';
import { partnerRoutes } from './routes/routes.ts';
import { commonHeaders, type Service, type ServiceContext, type ServiceEnv, timestamp } from './service.ts';
import { bearerOf, isSecret } from './tokens.ts';

const SANE_REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** Gives every request an id, the caller's own where it is sane, and every answer its common headers. */
function identify(service: Service): MiddlewareHandler<ServiceEnv> {
  return async (c, next) => {
    const wanted = c.req.header('x-request-id') ?? '';
    const requestId = SANE_REQUEST_ID.test(wanted) ? wanted : makeId('req');
    c.set('requestId', requestId);
    for (const [name, value] of Object.entries(commonHeaders(service, requestId))) c.header(name, value);
    await next();
  };
}

function record(service: Service): MiddlewareHandler<ServiceEnv> {
  return async (c, next) => {
    const entry = service.log.arrive({
      at: timestamp(service),
      request_id: c.get('requestId'),
      method: c.req.method,
      path: c.req.path,
      query: new URL(c.req.url).search.slice(1),
      route: routePath(c, -1),
    });
    c.set('entry', entry);
    await next();
    if (!isHandled(c.res)) entry.status = c.res.status;
  };
}

function linger(service: Service): MiddlewareHandler<ServiceEnv> {
  return async (_, next) => {
    const { latency_ms } = service.store.world.settings;
    if (latency_ms > 0) await pause(latency_ms, undefined, { signal: service.closing });
    await next();
  };
}

/** Holds every answer back until what it says is on disk, whichever request made the change. */
function persist(service: Service): MiddlewareHandler<ServiceEnv> {
  return async (_, next) => {
    await next();
    await service.store.durable();
  };
}

function adminGate(service: Service): MiddlewareHandler<ServiceEnv> {
  return async (c, next) => {
    const key = bearerOf(c.req.header('authorization'));
    if (key === undefined || !isSecret(key, service.adminKeyHash)) {
      throw new Problem(401, 'not_authenticated', "Send the sandbox's admin key as Authorization: Bearer <key>.", {
        headers: { 'WWW-Authenticate': 'Bearer realm="sandbox"' },
      });
    }
    await next();
  };
}

interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly scope?: Parameters<typeof scopeGate>[0];
  handle(c: ServiceContext): Response | Promise<Response>;
}

/** Adds endpoints, and a 405 with Allow for every other method on their paths. */
function addEndpoints(app: Hono<ServiceEnv>, prefix: string, endpoints: readonly Endpoint[]): void {
  const methods = new Map<string, string[]>();
  for (const { method, path, scope, handle } of endpoints) {
    const full = `${prefix}${path}`;
    if (scope) app.on(method, full, scopeGate(scope));
    app.on(method, full, handle);
    methods.set(full, [...(methods.get(full) ?? []), ...(method === 'GET' ? ['GET', 'HEAD'] : [method])]);
  }
  for (const [path, allowed] of methods) {
    app.all(path, (c) => {
      const message = `${c.req.method} is not allowed here; ${allowed.join(', ')} is.`;
      throw new Problem(405, 'method_not_allowed', message, { headers: { Allow: allowed.join(', ') } });
    });
  }
}

/**
 * Answers what never becomes a request of the app, for example one with a Host header that no address can be made of.
 * @param error what the HTTP adapter threw.
 */
export function answerUnroutable(error: unknown): Response {
  const problem =
    error instanceof RequestError
      ? new Problem(400, 'bad_request', `The request is not valid HTTP: ${error.message}.`)
      : new Problem(500, 'internal_error', 'The service failed.');
  const requestId = makeId('req');
  return Response.json(problemBody(problem, requestId), {
    status: problem.status,
    headers: { 'X-Request-Id': requestId },
  });
}

/** The service as a function from requests to answers. Paths are exact: `/spaces` is not `/spaces/`. */
export function buildApp(service: Service): Hono<ServiceEnv> {
  const app = new Hono<ServiceEnv>();
  app.use(identify(service));
  app.use('/v1/*', record(service), faultWire(service), linger(service), gate(service), persist(service));
  app.use('/_sandbox/*', adminGate(service), persist(service));
  addEndpoints(app, '/v1', partnerRoutes(service));
  addEndpoints(app, '/_sandbox', adminRoutes(service));
  app.notFound((c) => {
    throw new Problem(404, 'not_found', `There is nothing at ${c.req.path}.`);
  });
  app.onError((error, c) => {
    const entry = c.get('entry');
    if (!(error instanceof Problem) && entry) entry.crash = error.stack ?? error.message;
    const problem = error instanceof Problem ? error : new Problem(500, 'internal_error', 'The service failed.');
    return c.json(problemBody(problem, c.get('requestId')), problem.status, { ...problem.facts.headers });
  });
  return app;
}
