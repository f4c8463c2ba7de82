import {
  createServer as createHttpServer,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Server, Socket } from 'node:net';
import { CERTIFICATE, KEY } from './certificate.ts';
import { type Listening, listen } from './tcp-server.ts';

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

interface FakeServiceOptions {
  /** Serves https with the certificate in `certificate.ts`. */
  readonly tls?: boolean;
  /** By default a free port. One from `findClosedPort` stays free between `stop` and `restart`. */
  readonly port?: number;
}

export interface FakeService extends Listening {
  /** Every request, in order of arrival. */
  readonly requests: FakeRequest[];
  /** Those with the method POST. */
  posts(): FakeRequest[];
  /** Replaces the script, and counts from 1 again. */
  respond(script: Script): void;
  /** Resolves with the next request that matches. */
  nextRequest(matches?: (request: FakeRequest) => boolean): Promise<FakeRequest>;
  /** Cuts all connections and stops listening. */
  stop(): Promise<void>;
  /** Listens again on the same port. */
  restart(): Promise<void>;
}

/** The maximum part of a body that is kept; the rest is only counted. */
const KEPT_BYTES = 8 * 1024 * 1024;

/** One request as it arrived. Its body is read only on demand. */
export class FakeRequest {
  readonly method: string;
  /** Path and query, as sent. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  /** Equal for two requests on one connection. */
  readonly connection: Socket;
  readonly incoming: IncomingMessage;
  /** The number of bytes of the body that have been read. */
  bytes = 0;
  /** Whether the entire body has been read. */
  isComplete = false;
  private readonly chunks: Buffer[] = [];
  private readonly waiting: { readonly bytes: number; readonly resolve: () => void }[] = [];
  private completed: Promise<void> | undefined;

  constructor(incoming: IncomingMessage) {
    this.incoming = incoming;
    this.method = incoming.method ?? '';
    this.path = incoming.url ?? '';
    this.query = new URL(this.path, 'http://localhost').searchParams;
    this.headers = incoming.headers;
    this.connection = incoming.socket;
    incoming.on('error', () => undefined);
  }

  /** The part of the body that has been read. */
  get body(): string {
    return this.bodyBytes.toString();
  }

  get bodyBytes(): Buffer {
    return Buffer.concat(this.chunks);
  }

  json<Shape = Record<string, unknown>>(): Shape {
    return JSON.parse(this.body);
  }

  /** Reads the body and resolves when all of it has arrived: never, if the connection breaks before. */
  readBody(): Promise<void> {
    this.completed ??= new Promise((resolve) => {
      this.incoming.on('data', (chunk: Buffer) => this.keep(chunk));
      this.incoming.on('end', () => {
        this.isComplete = true;
        resolve();
      });
    });
    return this.completed;
  }

  /** Reads the body and resolves when this many bytes have arrived. */
  readBytes(bytes: number): Promise<void> {
    void this.readBody();
    return new Promise((resolve) => this.waiting.push({ bytes, resolve }));
  }

  /** Resolves when the connection is closed. */
  async closed(): Promise<void> {
    if (!this.connection.closed) await new Promise((resolve) => this.connection.once('close', resolve));
  }

  private keep(chunk: Buffer): void {
    if (this.bytes < KEPT_BYTES) this.chunks.push(chunk);
    this.bytes += chunk.length;
    for (const each of this.waiting) if (this.bytes >= each.bytes) each.resolve();
  }
}

/** Starts a fake service on a loopback port; it stops when the test ends. */
export async function startFakeService(script: Script, options: FakeServiceOptions = {}): Promise<FakeService> {
  const requests: FakeRequest[] = [];
  const awaited: { matches: (request: FakeRequest) => boolean; resolve: (request: FakeRequest) => void }[] = [];
  let responder = createResponder(script);

  const handle = (incoming: IncomingMessage, response: ServerResponse): void => {
    const request = new FakeRequest(incoming);
    response.on('error', () => undefined);
    requests.push(request);
    void responder(request, response);
    for (const each of [...awaited]) {
      if (!each.matches(request)) continue;
      awaited.splice(awaited.indexOf(each), 1);
      each.resolve(request);
    }
  };
  const server: Server = options.tls
    ? createHttpsServer({ cert: CERTIFICATE, key: KEY }, handle)
    : createHttpServer(handle);
  const listening = await listen(server, options.tls ? 'https' : 'http', options.port);
  return {
    ...listening,
    requests,
    posts: () => requests.filter(({ method }) => method === 'POST'),
    respond(next) {
      responder = createResponder(next);
    },
    nextRequest: (matches = () => true) => new Promise((resolve) => awaited.push({ matches, resolve })),
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

/** A step that resets the connection with the body unread. */
export const resetOnHeaders: Step = { onHeaders: reset };

/** A step that never responds. */
export const neverAnswer: Handler = () => undefined;

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

/** The response of another service to a request that was passed on. */
export interface Passed {
  readonly status: number;
  readonly text: string;
}

/** Sends a request on to another service at this base URL or origin, for steps that decide what becomes of the response. */
export async function passOn({ method, path, headers, body }: FakeRequest, target: string): Promise<Passed> {
  const response = await fetch(new URL(path, target), {
    method,
    headers: { authorization: String(headers.authorization), 'content-type': 'application/json' },
    ...(method !== 'GET' && { body }),
  });
  return { status: response.status, text: await response.text() };
}

export interface Gate {
  /** Resolves when the gate is open. */
  pass(): Promise<void>;
  /** Resolves when this many steps wait at it. */
  arrived(count?: number): Promise<void>;
  /** Releases the waiting steps, and lets all later ones pass. */
  open(): void;
}

/** A gate at which steps wait until the test opens it: `async (request, response) => { await gate.pass(); … }`. */
export function createGate(): Gate {
  const waiting: (() => void)[] = [];
  const observers: { readonly count: number; readonly resolve: () => void }[] = [];
  let isOpen = false;
  return {
    pass: () =>
      new Promise((resolve) => {
        if (isOpen) return resolve();
        waiting.push(resolve);
        for (const observer of observers) if (waiting.length >= observer.count) observer.resolve();
      }),
    arrived: (count = 1) =>
      new Promise((resolve) => {
        if (waiting.length >= count) resolve();
        else observers.push({ count, resolve });
      }),
    open() {
      isOpen = true;
      for (const resolve of waiting.splice(0)) resolve();
    },
  };
}
