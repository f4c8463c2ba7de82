import { setTimeout as sleep } from 'node:timers/promises';
import { RequestError } from '@hono/node-server';
import { Hono, type MiddlewareHandler } from 'hono';
import { routePath } from 'hono/route';
import { addChatAdmin } from './admin/chat.ts';
import { addClockAdmin } from './admin/clock.ts';
import { addFaultAdmin, addSettingsAdmin, addTokenAdmin } from './admin/control.ts';
import { addCronAdmin, addDataAdmin, addUploadAdmin } from './admin/data.ts';
import { addAdminIndex } from './admin/index.ts';
import { addDeliveryAdmin, addWebhookAdmin } from './admin/webhooks.ts';
import { requireAdminKey, requireToken } from './auth.ts';
import { addDocumentRoutes, isDocumentPath } from './contract/routes.ts';
import { injectFaults, isAlreadySent } from './fault-middleware.ts';
import type { Route } from './faults.ts';
import { Problem, problemBody } from './problem.ts';
import { replay } from './replay/replay.ts';
import { addChatRoutes } from './routes/chat.ts';
import { addCronJobRoutes } from './routes/cron-jobs.ts';
import { addProvisioningRoutes } from './routes/provisioning.ts';
import { addSpaceRoutes } from './routes/spaces.ts';
import { addUploadRoutes } from './routes/uploads.ts';
import { commonHeaders, createId, type Service, type ServiceApp, type ServiceEnv, timestamp } from './service.ts';
import { quote } from './validation.ts';

const VALID_REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** Gives every request an id, the caller's own if it is valid, and every response the common headers. */
function setCommonHeaders(service: Service): MiddlewareHandler<ServiceEnv> {
  return async (c, next) => {
    const given = c.req.header('x-request-id') ?? '';
    const requestId = VALID_REQUEST_ID.test(given) ? given : createId('req');
    c.set('requestId', requestId);
    c.set('clientTimeoutMs', service.clientTimeoutMs);
    for (const [name, value] of Object.entries(commonHeaders(service, requestId))) c.header(name, value);
    await next();
  };
}

const LOOPBACK_NAMES = ['127.0.0.1', '[::1]', 'localhost'];

/**
 * Rejects a request whose Host is not a loopback name. Prevents DNS rebinding: a web page whose name resolves to a loopback
 * address. Any port is accepted, because a tunnel may use another one.
 */
function requireLoopbackHost(): MiddlewareHandler<ServiceEnv> {
  return async (c, next) => {
    if ((c.env.incoming.headersDistinct.host?.length ?? 0) > 1) {
      throw new Problem(400, 'bad_request', 'The request has more than one Host header.');
    }
    const { hostname } = new URL(c.req.url);
    if (!LOOPBACK_NAMES.includes(hostname)) {
      const message = `The Host of the request is ${quote(hostname)}. The sandbox accepts only ${LOOPBACK_NAMES.join(', ')}.`;
      throw new Problem(421, 'misdirected_request', message);
    }
    await next();
  };
}

function logRequest(service: Service): MiddlewareHandler<ServiceEnv> {
  return async (c, next) => {
    const { shaped } = c.env;
    const own = { method: c.req.method, path: c.req.path, query: new URL(c.req.url).search.slice(1) };
    const entry = service.log.add({
      at: timestamp(service),
      request_id: c.get('requestId'),
      ...(shaped?.received ?? own),
      route: routePath(c, -1),
    });
    c.env.logged.entry = entry;
    c.set('entry', entry);
    await next();
    if (!isAlreadySent(c.res)) entry.status = c.res.status;
  };
}

function addLatency({ store, closing }: Service): MiddlewareHandler<ServiceEnv> {
  return async (_, next) => {
    const { latency_ms } = store.world.settings;
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
  const methodsByPath = new Map<string, Set<string>>();
  for (const { path, method } of app.routes) {
    if (method === 'ALL') continue;
    const methods = methodsByPath.get(path) ?? new Set();
    methodsByPath.set(path, methods.add(method));
    if (method === 'GET') methods.add('HEAD');
  }
  for (const [path, methods] of methodsByPath) {
    const allowed = [...methods].join(', ');
    app.all(path, (c) => {
      const message = `${c.req.method} is not allowed here. Use ${allowed}.`;
      throw new Problem(405, 'method_not_allowed', message, { headers: { Allow: allowed } });
    });
  }
}

/**
 * Returns the response to a request that never reaches the app, for example because its Host header makes no valid URL.
 * @param error what the HTTP adapter threw
 */
export function unroutableResponse(error: unknown): Response {
  const problem =
    error instanceof RequestError
      ? new Problem(400, 'bad_request', `The request is not valid HTTP: ${error.message}.`)
      : new Problem(500, 'internal_error', 'The service failed.');
  const requestId = createId('req');
  return Response.json(problemBody(problem, requestId), {
    status: problem.status,
    headers: { 'X-Request-Id': requestId },
  });
}

/** The routes below a path, without middleware and the 405 handlers. */
function routesBelow(app: ServiceApp, base: string): readonly Route[] {
  const routes = app.routes.filter(({ path, method }) => method !== 'ALL' && path.startsWith(`${base}/`));
  const unique = new Map(routes.map(({ method, path }) => [`${method} ${path}`, { method, path }]));
  return [...unique.values()];
}

/** The routes of the partner API, on which faults are injected. */
export function partnerRoutes(app: ServiceApp): readonly Route[] {
  return routesBelow(app, '/v1').filter(({ path }) => !isDocumentPath(path));
}

/** The partner API (spec §4) and the admin API as one app. Paths are exact: `/spaces` is not `/spaces/`. */
export function createApp(service: Service): ServiceApp {
  const app = new Hono<ServiceEnv>();
  app.use(setCommonHeaders(service), requireLoopbackHost());
  if (service.replay) app.use('/v1/*', logRequest(service), replay(service, service.replay));
  else addDocumentRoutes(app, service);
  app.use('/v1/*', logRequest(service), addLatency(service), requireToken(service), injectFaults(service));
  app.use('/v1/*', waitForDisk(service));
  app.use('/_sandbox/*', requireAdminKey(service), waitForDisk(service));
  const partnerApi = [addSpaceRoutes, addProvisioningRoutes, addChatRoutes, addCronJobRoutes, addUploadRoutes];
  for (const addRoutes of partnerApi) addRoutes(app.basePath('/v1'), service);
  addFaultAdmin(app.basePath('/_sandbox'), service, () => partnerRoutes(app));
  const accessAdmin = [addTokenAdmin, addSettingsAdmin];
  const contentAdmin = [addDataAdmin, addChatAdmin, addCronAdmin, addUploadAdmin, addClockAdmin];
  const webhookAdmin = [addWebhookAdmin, addDeliveryAdmin];
  for (const addRoutes of [...accessAdmin, ...contentAdmin, ...webhookAdmin])
    addRoutes(app.basePath('/_sandbox'), service);
  addAdminIndex(app, (base) => routesBelow(app, base));
  refuseOtherMethods(app);
  app.notFound((c) => {
    throw new Problem(404, 'not_found', `There is nothing at ${c.req.path}.`);
  });
  app.onError((error, c) => {
    const entry = c.get('entry');
    if (!(error instanceof Problem) && entry) entry.crash = error.stack ?? error.message;
    const problem = error instanceof Problem ? error : new Problem(500, 'internal_error', 'The service failed.');
    return c.json(problemBody(problem, c.get('requestId')), problem.status, { ...problem.details.headers });
  });
  return app;
}
