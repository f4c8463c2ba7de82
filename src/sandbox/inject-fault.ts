import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { MiddlewareHandler } from 'hono';
import { routePath } from 'hono/route';
import type { Fault } from './faults.ts';
import type { Service, ServiceContext, ServiceEnv } from './service.ts';

const GATEWAY_PAGE = `<!DOCTYPE html>
<html><head><title>502 Bad Gateway</title></head>
<body><center><h1>502 Bad Gateway</h1></center><hr><center>gateway</center></body></html>
`;

/** Tells the HTTP adapter that a fault has already written to the socket. */
function alreadySent(): Response {
  return new Response(null, { headers: RESPONSE_ALREADY_SENT.headers });
}

/** Whether a fault has already written to the socket, so that the adapter does not send this response. */
export function isAlreadySent(response: Response): boolean {
  return [...RESPONSE_ALREADY_SENT.headers.keys()].every((name) => response.headers.has(name));
}

async function waitForDisconnect({ env: { outgoing } }: ServiceContext): Promise<Response> {
  if (!outgoing.destroyed && !outgoing.closed) await once(outgoing, 'close');
  return alreadySent();
}

/** Writes a status line and headers directly to the socket, and logs the status. */
function sendHead(c: ServiceContext, status: number, headers: Record<string, string | number>): void {
  const entry = c.get('entry');
  if (entry) entry.status = status;
  c.env.outgoing.writeHead(status, headers);
}

/** The headers of a replacement. They do not come from `c`, which would add those of the true response. */
function headersOf(c: ServiceContext, type = 'application/json'): Record<string, string> {
  return { 'X-Request-Id': c.get('requestId'), 'Content-Type': type };
}

function createErrorResponse(c: ServiceContext, status: number, retryAfter?: number | string): Response {
  const code = status === 402 ? 'organization_balance_too_low' : 'injected_fault';
  const error = { code, message: `An injected fault: status ${status}.`, request_id: c.get('requestId') };
  const response = Response.json({ error }, { status, headers: headersOf(c) });
  if (retryAfter !== undefined) response.headers.set('Retry-After', String(retryAfter));
  return response;
}

/** Resets the connection, once this many bytes of the body were received, or all of a shorter one. */
async function resetConnection(c: ServiceContext, atBytes = 0): Promise<Response> {
  const { incoming } = c.env;
  let received = 0;
  if (atBytes > 0) {
    // Destroying the stream would end the connection without a reset.
    for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
      received += chunk.length;
      if (received >= atBytes) break;
    }
  }
  incoming.socket.resetAndDestroy();
  return alreadySent();
}

/** Sends the true status, headers, and length, then half of the body, and ends the connection. */
async function cutOff(c: ServiceContext, response: Response): Promise<Response> {
  const body = Buffer.from(await response.arrayBuffer());
  const { incoming, outgoing } = c.env;
  sendHead(c, response.status, { ...Object.fromEntries(response.headers), 'content-length': body.length });
  outgoing.write(body.subarray(0, Math.floor(body.length / 2)), () => incoming.socket.destroySoon());
  return waitForDisconnect(c);
}

/** Responds with an error once the request was received, and processes the request later. */
async function processLate(
  c: ServiceContext,
  { status, ms }: Extract<Fault, { kind: 'late' }>,
  next: () => Promise<void>,
): Promise<Response> {
  const { outgoing } = c.env;
  const respond = async (): Promise<void> => {
    if (outgoing.headersSent) return;
    const response = createErrorResponse(c, status);
    sendHead(c, status, Object.fromEntries(response.headers));
    outgoing.end(await response.text());
  };
  c.set('onBodyReceived', async () => {
    await respond();
    await sleep(ms, undefined, { ref: false });
  });
  await next();
  // A handler that reads no body has nothing to wait for.
  await respond();
  return alreadySent();
}

/** @returns what the client gets in place of the true response; undefined when it gets the true one */
async function perform(
  c: ServiceContext,
  fault: Exclude<Fault, { kind: 'late' | 'stale' }>,
): Promise<Response | undefined> {
  switch (fault.kind) {
    case 'status':
      return createErrorResponse(c, fault.status, fault.retry_after);
    case 'reset':
      return resetConnection(c, fault.at_bytes);
    case 'cut':
      return cutOff(c, c.res);
    case 'stall':
      return waitForDisconnect(c);
    case 'delay':
      await sleep(fault.ms, undefined, { ref: false });
      return undefined;
    case 'html':
      return new Response(GATEWAY_PAGE, { status: fault.status, headers: headersOf(c, 'text/html; charset=utf-8') });
    case 'garbage':
      return new Response('\u0000not json{', { headers: headersOf(c) });
  }
}

/** Clears `c.res` first: otherwise the replacement inherits the headers of the true response. */
function replaceResponse(c: ServiceContext, replacement: Response | undefined): void {
  if (!replacement) return;
  c.res = undefined;
  c.res = replacement;
}

/** Injects the faults of the service's plan into partner requests. */
export function injectFaults(service: Service): MiddlewareHandler<ServiceEnv> {
  return async (c, next) => {
    const fault = service.faults.next({ method: c.req.method, path: routePath(c, -1).replace('/v1', '') });
    if (!fault) return next();
    const stage = 'stage' in fault ? fault.stage : undefined;
    const entry = c.get('entry');
    if (entry) entry.fault = stage === undefined ? fault.kind : `${fault.kind}/${stage}`;
    if (fault.kind === 'stale') {
      c.set('hiddenMs', fault.ms);
      return next();
    }
    if (fault.kind === 'late') return replaceResponse(c, await processLate(c, fault, next));
    if (stage === 'before') return (await perform(c, fault)) ?? next();
    await next();
    return replaceResponse(c, await perform(c, fault));
  };
}
