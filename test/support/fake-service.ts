import { EventEmitter, once } from 'node:events';
import {
  createServer as createHttpServer,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Server } from 'node:net';
import { CERTIFICATE, KEY } from './certificate.ts';
import { type ApiResponse, call, type Service } from './service.ts';
import { listen } from './tcp-server.ts';

/*
 * A fake of the service on a real loopback socket. A script says how it responds; it records every request, and stops
 * when the test ends.
 *
 *   const service = await startFakeService(json([{ space_id: 's1' }]));              // every request
 *   const service = await startFakeService([json({}, 503), reset, json([])]);        // in turn, then the last one always
 *   const service = await startFakeService({                                         // by route, below the base path
 *     'GET /automation/spaces/': json([]),
 *     'GET /automation/spaces/{id}/agents/': [reset, json([])],
 *     'POST *': (request, response, count) => sendJson(response, { id: `${request.json().name}-${count}` }, 201),
 *   });
 *   service.requests.map(({ method, path, body }) => …);
 */

/** Responds to one request once all of its body has arrived. `count` is 1 for the first request that this step's list serves. */
export type Handler = (request: FakeRequest, response: ServerResponse, count: number) => unknown;

/** A handler, or one that runs as soon as the headers have arrived, with the body still unread. */
export type Step = Handler | { readonly onHeaders: Handler };

type Steps = Step | readonly Step[];

/** Steps for every request, or by route: `METHOD /path` below the base path, where `{name}` is any segment and `*` any path. */
export type Script = Steps | Readonly<Record<string, Steps>>;

export type FakeRequest = ReturnType<typeof createRequest>;

/** One request as it arrived. Its body is read only on demand. */
function createRequest(incoming: IncomingMessage) {
  const chunks: Buffer[] = [];
  let completed: Promise<void> | undefined;
  incoming.on('error', () => undefined);
  const { method = '', url: path = '', headers, socket: connection } = incoming;
  const request = {
    method,
    /** Path and query, as sent. */
    path,
    query: new URL(path, 'http://localhost').searchParams,
    headers,
    /** Equal for two requests on one connection. */
    connection,
    incoming,
    /** The number of bytes of the body that have been read. */
    bytes: 0,
    /** Whether the entire body has been read. */
    isComplete: false,
    /** The part of the body that has been read. */
    get bodyBytes(): Buffer {
      return Buffer.concat(chunks);
    },
    get body(): string {
      return request.bodyBytes.toString();
    },
    json: <Shape = Record<string, unknown>>(): Shape => JSON.parse(request.body),
    /** Reads the body and resolves when all of it has arrived: never, if the connection breaks before. */
    readBody(): Promise<void> {
      completed ??= new Promise((resolve) => {
        incoming.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          request.bytes += chunk.length;
        });
        incoming.on('end', () => {
          request.isComplete = true;
          resolve();
        });
      });
      return completed;
    },
    /** Reads the body and resolves when this many bytes have arrived. */
    readBytes(bytes: number): Promise<void> {
      void request.readBody();
      return new Promise((resolve) => incoming.on('data', () => request.bytes >= bytes && resolve()));
    },
    /** Resolves when the connection is closed. */
    async closed(): Promise<void> {
      if (!connection.closed) await new Promise((resolve) => connection.once('close', resolve));
    },
  };
  return request;
}

export type FakeService = Awaited<ReturnType<typeof startFakeService>>;

interface Options {
  /** Serves https with the certificate in `certificate.ts`. */
  readonly tls?: boolean;
  /** By default a free port. One from `findClosedPort` stays free between `stop` and `restart`. */
  readonly port?: number;
}

/** Starts a fake service on a loopback port; it stops when the test ends. */
export async function startFakeService(script: Script, { tls = false, port }: Options = {}) {
  /** Every request, in order of arrival. */
  const requests: FakeRequest[] = [];
  const arrivals = new EventEmitter().setMaxListeners(0);
  let responder = createResponder(script);
  const handle = (incoming: IncomingMessage, response: ServerResponse): void => {
    const request = createRequest(incoming);
    response.on('error', () => undefined);
    requests.push(request);
    void responder(request, response);
    arrivals.emit('request', request);
  };
  const server: Server = tls ? createHttpsServer({ cert: CERTIFICATE, key: KEY }, handle) : createHttpServer(handle);
  return {
    ...(await listen(server, tls ? 'https' : 'http', port)),
    requests,
    /** Those with the method POST. */
    posts: () => requests.filter(({ method }) => method === 'POST'),
    /** Replaces the script, and counts from 1 again. */
    respond(next: Script): void {
      responder = createResponder(next);
    },
    /** Resolves with the next request of a method, or of any. */
    async nextRequest(method?: string): Promise<FakeRequest> {
      for (;;) {
        const [request]: FakeRequest[] = await once(arrivals, 'request');
        if (request && (method ?? request.method) === request.method) return request;
      }
    },
  };
}

function createResponder(script: Script): (request: FakeRequest, response: ServerResponse) => Promise<void> {
  const isRoutes = (given: Script): given is Readonly<Record<string, Steps>> =>
    typeof given !== 'function' && !Array.isArray(given) && !('onHeaders' in given);
  const routes = Object.entries(isRoutes(script) ? script : { '* *': script }).map(([route, given]) => {
    const steps: readonly Step[] = Array.isArray(given) ? given : [given];
    return { pattern: routePattern(route), steps, count: 0 };
  });
  return async (request, response) => {
    const route = routes.find(({ pattern }) => pattern.test(`${request.method} ${request.path.split('?')[0]}`));
    if (!route) return sendJson(response, { detail: 'the fake service has no such route' }, 404);
    route.count += 1;
    const { count, steps } = route;
    const step = steps[Math.min(count, steps.length) - 1];
    if (typeof step === 'object') return void (await step.onHeaders(request, response, count));
    await request.readBody();
    await step?.(request, response, count);
  };
}

function routePattern(route: string): RegExp {
  const [method = '*', path = '*'] = route.split(' ');
  const literal = (text: string): string => text.replace(/[.*+?^$()|[\]\\]/g, '\\$&');
  const anyMethod = method === '*' ? '\\S+' : method;
  return new RegExp(`^${anyMethod} ${path === '*' ? '.*' : `/v1${literal(path).replace(/\{\w+\}/g, '[^/]+')}`}$`);
}

/** Responds with JSON. */
export function sendJson(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** A step that responds with JSON. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Handler {
  return (_, response) => sendJson(response, body, status, headers);
}

/** A step that reads the complete request and resets the connection. */
export const reset: Handler = (request) => request.connection.resetAndDestroy();

/** A step that sends the headers and `text` of a longer body, and then closes the connection. */
export function cut(text: string, status = 200): Handler {
  return (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': text.length + 100 });
    response.write(text, () => response.destroy());
  };
}

/** A step that forwards requests to another service at this base URL or origin, and its responses back, as they come. */
export function forwardTo(target: string): { readonly onHeaders: Handler } {
  return {
    onHeaders({ incoming, method, path, headers }, response) {
      const onward = httpRequest(
        new URL(path, target),
        // A kept-alive connection may be closed at the very moment it is used again.
        { method, headers: { ...headers, connection: 'close' }, agent: false },
        (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.on('error', () => response.destroy());
          answer.pipe(response);
        },
      );
      onward.on('error', () => response.destroy());
      response.on('close', () => onward.destroy());
      incoming.pipe(onward);
    },
  };
}

/** Sends a request on to another service at this base URL or origin, for steps that decide what becomes of the response. */
export function passOn({ method, path, headers, bodyBytes }: FakeRequest, target: string): Promise<ApiResponse> {
  const { authorization = '', 'content-type': type } = headers;
  return call(method, new URL(path, target).href, {
    ...(bodyBytes.length > 0 && { raw: bodyBytes }),
    headers: { authorization, ...(type !== undefined && { 'content-type': type }) },
  });
}

/** A gate at which steps wait until the test opens it: `async (request, response) => { await gate.pass(); … }`. */
export function createGate() {
  const gate = new EventEmitter().setMaxListeners(0);
  let [arrivals, isOpen] = [0, false];
  return {
    /** Resolves when the gate is open. */
    async pass(): Promise<void> {
      arrivals += 1;
      gate.emit('arrived');
      if (!isOpen) await once(gate, 'open');
    },
    /** Resolves when this many steps have come to it. */
    async arrived(count = 1): Promise<void> {
      while (arrivals < count) await once(gate, 'arrived');
    },
    /** Releases the waiting steps, and lets all later ones pass. */
    open(): void {
      isOpen = true;
      gate.emit('open');
    },
  };
}

export type HeldRequests = Awaited<ReturnType<typeof holdRequests>>;

/**
 * Starts a path to a service on which matching requests wait, their bodies unread. @returns the environment in which the service is
 * reached this way, `held`, which resolves once so many requests wait, and `release`
 */
export async function holdRequests({ sandbox, env }: Service, holds: (request: FakeRequest) => boolean) {
  const gate = createGate();
  const forward = forwardTo(sandbox.baseUrl);
  const { baseUrl } = await startFakeService({
    onHeaders: async (request, response, count) => {
      if (holds(request)) await gate.pass();
      await forward.onHeaders(request, response, count);
    },
  });
  return { env: { ...env, PARTNER_BASE_URL: baseUrl }, held: gate.arrived, release: gate.open };
}
