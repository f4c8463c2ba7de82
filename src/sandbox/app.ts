import { Hono, type MiddlewareHandler } from 'hono';
import { LinearRouter } from 'hono/router/linear-router';
import { requireAdminKey, requireScope, requireToken } from './access.ts';
import { addControlRoutes, addDataRoutes } from './admin.ts';
import { CHAT_OPERATIONS } from './chat.ts';
import { CRON_OPERATIONS } from './cron.ts';
import { injectFaults, sentStatus } from './inject-fault.ts';
import { LOOPBACK_NAMES, Problem } from './input.ts';
import { addDocumentRoutes } from './openapi.ts';
import { createId } from './rows.ts';
import type { LoggedRequest, Service, ServiceApp, ServiceEnv } from './service.ts';
import { SPACE_OPERATIONS } from './spaces.ts';
import { UPLOAD_OPERATIONS } from './uploads.ts';

/** The partner API (spec §4). */
const OPERATIONS = [...SPACE_OPERATIONS, ...CHAT_OPERATIONS, ...UPLOAD_OPERATIONS, ...CRON_OPERATIONS];

const MAX_LOGGED_REQUESTS = 10_000;

function setHeaders({ clock }: Service): MiddlewareHandler<ServiceEnv> {
  return async (c, next) => {
    const requestId = c.req.header('x-request-id') ?? createId('req');
    c.set('requestId', requestId);
    c.header('X-Request-Id', requestId);
    c.header('Date', new Date(clock.now()).toUTCString());
    await next();
  };
}

/**
 * Rejects a request whose Host is not a loopback name. Prevents DNS rebinding: a web page whose name resolves to a
 * loopback address. Any port is accepted, because a tunnel may use another one.
 */
const requireLoopbackHost: MiddlewareHandler<ServiceEnv> = async (c, next) => {
  const { hostname } = new URL(c.req.url);
  if (LOOPBACK_NAMES.includes(hostname)) return next();
  const message = `The Host of the request is ${hostname}. The sandbox accepts only ${LOOPBACK_NAMES.join(', ')}.`;
  throw new Problem(421, 'misdirected_request', message);
};

function logRequest({ clock, requests, observe }: Service): MiddlewareHandler<ServiceEnv> {
  return async (c, next) => {
    const { method, path, url } = c.req;
    const query = new URL(url).search.slice(1);
    const received = { at: clock.timestamp(), request_id: c.get('requestId'), method, path, query };
    const entry: LoggedRequest = { ...received, status: null, fault: null, body: null };
    c.set('entry', entry);
    if (requests.push(entry) > MAX_LOGGED_REQUESTS) requests.shift();
    await observe(entry, next);
    entry.status = sentStatus(c);
  };
}

/** Delays every response until all changes are on disk, including those of other requests that it may report. */
function waitForDisk({ store }: Service): MiddlewareHandler<ServiceEnv> {
  return async (_, next) => {
    await next();
    await store.durable();
  };
}

/** The partner API (spec §4) and the admin API as one app. Paths are exact: `/spaces` is not `/spaces/`. */
export function createApp(service: Service): ServiceApp {
  // Built at once, unlike others: tests start hundreds of sandboxes.
  const app = new Hono<ServiceEnv>({ router: new LinearRouter() });
  app.use(setHeaders(service), requireLoopbackHost);
  addDocumentRoutes(app, service.origin, OPERATIONS);
  app.use('/v1/*', logRequest(service), requireToken(service), injectFaults(service), waitForDisk(service));
  for (const { method, path, scope, handle } of OPERATIONS) {
    app.on(method, `/v1${path}`, requireScope(scope), (c) => handle(service, c));
  }
  app.use('/_sandbox/*', requireAdminKey(service), waitForDisk(service));
  addControlRoutes(app.basePath('/_sandbox'), service);
  addDataRoutes(app.basePath('/_sandbox'), service);
  app.notFound((c) => {
    throw new Problem(404, 'not_found', `There is no ${c.req.method} ${c.req.path}.`);
  });
  app.onError((error, c) => {
    const failure = (): Problem => new Problem(500, 'internal_error', `The sandbox failed: ${error.stack}`);
    const { status, code, message, fields } = error instanceof Problem ? error : failure();
    return c.json({ error: { code, message, request_id: c.get('requestId'), ...(fields && { fields }) } }, status);
  });
  return app;
}
