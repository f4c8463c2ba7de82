import { setTimeout as sleep } from 'node:timers/promises';
import { Hono, type MiddlewareHandler } from 'hono';
import { routePath } from 'hono/route';
import { LinearRouter } from 'hono/router/linear-router';
import { requireAdminKey, requireScope, requireToken } from './access.ts';
import { addAdminRoutes } from './admin.ts';
import { routesOf } from './faults.ts';
import { injectFaults, isAlreadySent } from './inject-fault.ts';
import { Problem, quote } from './input.ts';
import { addDocumentRoutes } from './openapi.ts';
import {
  commonHeaders,
  createId,
  type LoggedRequest,
  type Operation,
  type Service,
  type ServiceApp,
  type ServiceEnv,
  timestamp,
} from './service.ts';
import { settingsOf } from './store.ts';

const VALID_REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;

const LOOPBACK_NAMES = ['127.0.0.1', '[::1]', 'localhost'];

const MAX_LOGGED_REQUESTS = 10_000;

/** Gives every request an id, the caller's own if it is valid, and every response the common headers. */
function setCommonHeaders(service: Service): MiddlewareHandler<ServiceEnv> {
  return async (c, next) => {
    const given = c.req.header('x-request-id') ?? '';
    const requestId = VALID_REQUEST_ID.test(given) ? given : createId('req');
    c.set('requestId', requestId);
    for (const [name, value] of Object.entries(commonHeaders(service, requestId))) c.header(name, value);
    await next();
  };
}

/**
 * Rejects a request whose Host is not a loopback name. Prevents DNS rebinding: a web page whose name resolves to a loopback
 * address. Any port is accepted, because a tunnel may use another one.
 */
const requireLoopbackHost: MiddlewareHandler<ServiceEnv> = async (c, next) => {
  const { hostname } = new URL(c.req.url);
  if (LOOPBACK_NAMES.includes(hostname)) return next();
  const message = `The Host of the request is ${quote(hostname)}. The sandbox accepts only ${LOOPBACK_NAMES.join(', ')}.`;
  throw new Problem(421, 'misdirected_request', message);
};

function logRequest(service: Service): MiddlewareHandler<ServiceEnv> {
  return async (c, next) => {
    const entry: LoggedRequest = {
      at: timestamp(service),
      request_id: c.get('requestId'),
      method: c.req.method,
      path: c.req.path,
      query: new URL(c.req.url).search.slice(1),
      route: routePath(c, -1),
      status: null,
      token_id: null,
      fault: null,
      body: null,
      crash: null,
    };
    c.set('entry', entry);
    if (service.requests.push(entry) > MAX_LOGGED_REQUESTS) service.requests.shift();
    await next();
    if (!isAlreadySent(c.res)) entry.status = c.res.status;
  };
}

function addLatency({ store, closing }: Service): MiddlewareHandler<ServiceEnv> {
  return async (_, next) => {
    const { latency_ms } = settingsOf(store);
    if (latency_ms > 0) await sleep(latency_ms, undefined, { signal: closing });
    await next();
  };
}

/** Delays every response until all changes are on disk, including those of other requests that it may report. */
function waitForDisk({ store }: Service): MiddlewareHandler<ServiceEnv> {
  return async (_, next) => {
    await next();
    await store.durable();
  };
}

/** Adds a 405 with Allow for every other method on the paths of the app. */
function refuseOtherMethods(app: ServiceApp): void {
  const routes = app.routes.filter(({ method }) => method !== 'ALL');
  for (const path of new Set(routes.map((route) => route.path))) {
    const methods = routes.filter((route) => route.path === path).map(({ method }) => method);
    const allowed = [...new Set(methods)].join(', ').replace('GET', 'GET, HEAD');
    app.all(path, (c) => {
      const message = `${c.req.method} is not allowed here. Use ${allowed}.`;
      throw new Problem(405, 'method_not_allowed', message, { headers: { Allow: allowed } });
    });
  }
}

/** The partner API (spec §4) and the admin API as one app. Paths are exact: `/spaces` is not `/spaces/`. */
export function createApp(service: Service, operations: readonly Operation[]): ServiceApp {
  // Built at once, unlike others: tests start hundreds of sandboxes.
  const app = new Hono<ServiceEnv>({ router: new LinearRouter() });
  app.use(setCommonHeaders(service), requireLoopbackHost);
  addDocumentRoutes(app, operations, service.origin);
  app.use('/v1/*', logRequest(service), addLatency(service), requireToken(service), injectFaults(service));
  app.use('/v1/*', waitForDisk(service));
  for (const { method, path, scope, handle } of operations) app.on(method, `/v1${path}`, requireScope(scope), handle);
  app.use('/_sandbox/*', requireAdminKey(service), waitForDisk(service));
  addAdminRoutes(app.basePath('/_sandbox'), service, routesOf(operations));
  refuseOtherMethods(app);
  app.notFound((c) => {
    throw new Problem(404, 'not_found', `There is nothing at ${c.req.path}.`);
  });
  app.onError((error, c) => {
    const entry = c.get('entry');
    if (!(error instanceof Problem) && entry) entry.crash = error.stack ?? error.message;
    const problem = error instanceof Problem ? error : new Problem(500, 'internal_error', 'The service failed.');
    return c.json(problem.body(c.get('requestId')), problem.status, { ...problem.details.headers });
  });
  return app;
}
