import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { MiddlewareHandler } from 'hono';
import { type Fault, isQuirk, type Quirk } from './faults.ts';
import { Problem, problemBody } from './problem.ts';
import { commonHeaders, type Service, type ServiceContext, type ServiceEnv } from './service.ts';

const GATEWAY_PAGE = `<!DOCTYPE html>
<html><head><title>502 Bad Gateway</title></head>
<body><center><h1>502 Bad Gateway</h1></center><hr><center>gateway</center></body></html>
`;

const CODES: Readonly<Partial<Record<number, string>>> = {
  401: 'invalid_token',
  402: 'organization_balance_too_low',
  404: 'not_found',
  429: 'rate_limited',
  500: 'internal_error',
  502: 'bad_gateway',
  503: 'service_unavailable',
  504: 'gateway_timeout',
};

/** Tells the HTTP adapter that this module has dealt with the socket itself. */
function handled(): Response {
  return new Response(null, { headers: RESPONSE_ALREADY_SENT.headers });
}

/** Whether a fault dealt with the socket itself, so that this answer is not sent. */
export function isHandled(answer: Response): boolean {
  return [...RESPONSE_ALREADY_SENT.headers.keys()].every((name) => answer.headers.has(name));
}

async function clientGone(c: ServiceContext): Promise<void> {
  const { outgoing } = c.env;
  if (!outgoing.destroyed && !outgoing.closed) await once(outgoing, 'close');
}

/** Sends a status line and headers past the adapter, and enters the status in the log as sent. */
function sendHead(c: ServiceContext, status: number, headers: Record<string, string | number>): void {
  const entry = c.get('entry');
  if (entry) entry.status = status;
  c.env.outgoing.writeHead(status, headers);
}

/** An answer made from nothing: one made by the context would inherit headers from the true answer. */
function falseAnswer(service: Service, c: ServiceContext, status: number, type: string, body: string): Response {
  const headers = { ...commonHeaders(service, c.get('requestId')), 'Content-Type': type };
  return new Response(body, { status, headers });
}

/** Receives a body up to so many bytes, and keeps nothing of it. */
async function receiveBytes({ incoming }: ServiceContext['env'], wanted: number): Promise<void> {
  let received = 0;
  for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
    received += Buffer.byteLength(chunk);
    if (received >= wanted) return;
  }
}

async function reset(c: ServiceContext, atBytes: number | undefined): Promise<Response> {
  // Whoever has ended the connection meanwhile is reset already.
  if (atBytes) await receiveBytes(c.env, atBytes).catch(() => undefined);
  c.env.incoming.socket.resetAndDestroy();
  return handled();
}

async function stall(service: Service, c: ServiceContext, send: 'nothing' | 'headers'): Promise<Response> {
  if (send === 'headers') {
    const headers = commonHeaders(service, c.get('requestId'));
    sendHead(c, 200, { ...headers, 'Content-Type': 'application/json', 'Content-Length': 1024 });
    c.env.outgoing.flushHeaders();
  }
  await clientGone(c);
  return handled();
}

/** Sends the true status, headers and length, then half of the body, and ends the connection. */
async function cut(c: ServiceContext, answer: Response): Promise<Response> {
  const body = Buffer.from(await answer.arrayBuffer());
  const { incoming, outgoing } = c.env;
  sendHead(c, answer.status, { ...Object.fromEntries(answer.headers), 'content-length': body.length });
  outgoing.write(body.subarray(0, Math.floor(body.length / 2)), () => incoming.socket.destroySoon());
  await clientGone(c);
  return handled();
}

function wrongStatus(service: Service, c: ServiceContext, fault: Fault & { kind: 'status' }): Response {
  const { status, retry_after } = fault;
  const problem = new Problem(status, CODES[status] ?? 'injected_fault', `An injected fault: status ${status}.`);
  const body = JSON.stringify(problemBody(problem, c.get('requestId')));
  const answer = falseAnswer(service, c, status, 'application/json', body);
  if (retry_after !== undefined) answer.headers.set('Retry-After', String(retry_after));
  return answer;
}

/** What the client gets in place of the true answer, or undefined when the true answer is to be sent. */
async function show(service: Service, c: ServiceContext, fault: Exclude<Fault, Quirk>): Promise<Response | undefined> {
  switch (fault.kind) {
    case 'status':
      return wrongStatus(service, c, fault);
    case 'reset':
      return reset(c, fault.at_bytes);
    case 'cut':
      return cut(c, c.res);
    case 'stall':
      return stall(service, c, fault.send);
    case 'delay':
      await pause(fault.ms, undefined, { signal: service.closing });
      return undefined;
    case 'html':
      return falseAnswer(service, c, fault.status, 'text/html; charset=utf-8', GATEWAY_PAGE);
    case 'garbage':
      return falseAnswer(service, c, 200, 'application/json', '\u0000not json{');
  }
}

/** Makes faults show on the socket of those partner requests that the plan strikes. */
export function faultWire(service: Service): MiddlewareHandler<ServiceEnv> {
  return async (c, next) => {
    const fault = service.faults.roll(c.req.method, c.req.path);
    if (!fault) return next();
    const entry = c.get('entry');
    if (isQuirk(fault)) {
      if (entry) entry.fault = fault.kind;
      c.set('quirk', fault);
      return next();
    }
    const stage = fault.kind === 'cut' ? 'after' : fault.stage;
    if (entry) entry.fault = `${fault.kind}/${stage}`;
    if (stage === 'before') {
      const instead = await show(service, c, fault);
      return instead ?? next();
    }
    await next();
    const instead = await show(service, c, fault);
    if (!instead) return;
    // Assigned over the true answer, it would inherit that answer's headers.
    c.res = undefined;
    c.res = instead;
    return;
  };
}
