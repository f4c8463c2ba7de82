import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { MiddlewareHandler } from 'hono';
import { routePath } from 'hono/route';
import type { Fault } from './faults.ts';
import type { Service, ServiceContext, ServiceEnv } from './service.ts';
import { settingsOf } from './store.ts';

const GATEWAY_PAGE = `<!DOCTYPE html>
<html><head><title>502 Bad Gateway</title></head>
<body><center><h1>502 Bad Gateway</h1></center><hr><center>gateway</center></body></html>
`;

const JSON_TYPE = { 'Content-Type': 'application/json' };

/** Tells the HTTP adapter that a fault has already written to the socket, or ended the connection. */
function alreadySent(): Response {
  return new Response(null, { headers: RESPONSE_ALREADY_SENT.headers });
}

/** The status that the client gets; null if a fault suppressed the response. */
export function sentStatus({ env: { outgoing }, res }: ServiceContext): number | null {
  if (outgoing.headersSent) return outgoing.statusCode;
  const isSuppressed = [...RESPONSE_ALREADY_SENT.headers.keys()].every((name) => res.headers.has(name));
  return isSuppressed ? null : res.status;
}

async function waitForDisconnect({ env: { outgoing } }: ServiceContext): Promise<Response> {
  if (!outgoing.destroyed && !outgoing.closed) await once(outgoing, 'close');
  return alreadySent();
}

/** Not made by `c`, which would add the headers of the true response. */
function respond(c: ServiceContext, status: number, body: string, headers: Record<string, string>): Response {
  return new Response(body, { status, headers: { 'X-Request-Id': c.get('requestId'), ...headers } });
}

function respondWithError(c: ServiceContext, status: number, retryAfter?: number | string): Response {
  const code = status === 402 ? 'organization_balance_too_low' : 'injected_fault';
  const error = { code, message: `An injected fault: status ${status}.`, request_id: c.get('requestId') };
  const retry = retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) };
  return respond(c, status, JSON.stringify({ error }), { ...JSON_TYPE, ...retry });
}

/** Sends the status, the headers, and the length of a response. @returns its body, which is still to be sent */
async function sendHead({ env: { outgoing } }: ServiceContext, response: Response): Promise<Buffer> {
  const body = Buffer.from(await response.arrayBuffer());
  outgoing.writeHead(response.status, { ...Object.fromEntries(response.headers), 'content-length': body.length });
  return body;
}

/** Sends half of a response, and ends the connection. */
async function cutOff(c: ServiceContext, response: Response): Promise<Response> {
  const body = await sendHead(c, response);
  const { incoming, outgoing } = c.env;
  outgoing.write(body.subarray(0, Math.floor(body.length / 2)), () => incoming.socket.destroySoon());
  return waitForDisconnect(c);
}

/** Sends a response some bytes at a time. */
async function dribble(
  c: ServiceContext,
  { ms, bytes }: Extract<Fault, { kind: 'dribble' }>,
  response: Response,
): Promise<Response> {
  const body = await sendHead(c, response);
  const { outgoing } = c.env;
  for (let at = 0; at < body.length && !outgoing.destroyed; at += bytes) {
    outgoing.write(body.subarray(at, at + bytes));
    await sleep(ms, undefined, { ref: false });
  }
  outgoing.end();
  return alreadySent();
}

/** Responds with an error once the request was received, and processes it later, by the clock of the service. */
async function processLate(
  { clock }: Service,
  c: ServiceContext,
  { status, ms }: Extract<Fault, { kind: 'late' }>,
  process: () => Promise<Response>,
): Promise<Response> {
  const { outgoing } = c.env;
  const sendError = async (): Promise<void> => {
    if (outgoing.headersSent) return;
    const response = respondWithError(c, status);
    outgoing.writeHead(status, Object.fromEntries(response.headers)).end(await response.text());
  };
  c.set('onBodyReceived', async () => {
    await sendError();
    await new Promise<void>((resume) => {
      clock.schedule(clock.now() + ms, () => {
        // Advancing the clock includes what the request does.
        clock.waitFor(processing.catch(() => undefined));
        resume();
      });
    });
  });
  const processing = process();
  await processing;
  // A handler that reads no body has nothing to wait for.
  await sendError();
  return alreadySent();
}

/** @param process carries the request out, and returns the true response */
async function perform(
  service: Service,
  c: ServiceContext,
  fault: Fault,
  process: () => Promise<Response>,
): Promise<Response> {
  const processed = 'stage' in fault && fault.stage === 'after' ? await process() : undefined;
  const answer = async (): Promise<Response> => processed ?? process();
  switch (fault.kind) {
    case 'status':
      return respondWithError(c, fault.status, fault.retry_after);
    case 'html':
      return respond(c, fault.status, GATEWAY_PAGE, { 'Content-Type': 'text/html; charset=utf-8' });
    case 'garbage':
      return respond(c, 200, '\u0000not json{', JSON_TYPE);
    case 'reset':
      c.env.incoming.socket.resetAndDestroy();
      return alreadySent();
    case 'stall':
      return waitForDisconnect(c);
    case 'delay':
      await sleep(fault.ms, undefined, { ref: false });
      return answer();
    case 'spend': {
      const { balance_usd, ...settings } = settingsOf(service.store);
      service.store.settings.put({ ...settings, balance_usd: balance_usd - fault.usd });
      return answer();
    }
    case 'cut':
      return cutOff(c, await answer());
    case 'dribble':
      return dribble(c, fault, await answer());
    case 'late':
      return processLate(service, c, fault, process);
  }
}

/** Injects the faults of the service's plan into partner requests. */
export function injectFaults(service: Service): MiddlewareHandler<ServiceEnv> {
  return async (c, next) => {
    const { views, fault } = service.faults.next(c.req.method, routePath(c, -1).replace('/v1', ''));
    c.set('views', views);
    const injected = [...views, ...(fault ? [fault] : [])];
    const names = injected.map((each) => ('stage' in each ? `${each.kind}/${each.stage}` : each.kind));
    const entry = c.get('entry');
    if (entry && names.length > 0) entry.fault = names.join(' ');
    if (!fault) return next();
    c.res = await perform(service, c, fault, async () => {
      await next();
      const { res } = c;
      // Otherwise a replacement inherits its headers.
      c.res = undefined;
      return res;
    });
  };
}
