import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { listen } from './tcp-server.ts';

export const SECRET = `whsec_${Buffer.from('a secret of thirty-two bytes....').toString('base64')}`;

/** Signs as the reference package does. @param at milliseconds since the epoch */
export function sign(id: string, body: string, secret = SECRET, at = Date.now()): Record<string, string> {
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, new Date(at), body),
  };
}

/** Sends a signed delivery. @returns the status of the response */
export async function deliver(url: string, id: string, body: string, secret = SECRET): Promise<number> {
  const response = await fetch(url, { method: 'POST', body, headers: sign(id, body, secret) });
  await response.arrayBuffer();
  return response.status;
}

export interface TargetRequest {
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A program that deliveries are forwarded to. */
export interface WebhookTarget {
  readonly url: string;
  readonly requests: readonly TargetRequest[];
  /** Resolves once this many requests have arrived. */
  arrived(count: number): Promise<void>;
  /** Cuts all connections and stops listening. */
  stop(): Promise<void>;
  restart(): Promise<void>;
}

/** The response of a target: a status, or none. */
export type TargetAnswer = { readonly status: number; readonly body?: string } | 'cut' | 'stall';

/** Starts a target with given responses. @param answer returns the response for the number of the request, from 1 */
export async function startTarget(
  answer: (count: number, request: TargetRequest) => TargetAnswer | Promise<TargetAnswer> = () => ({ status: 200 }),
): Promise<WebhookTarget> {
  const requests: TargetRequest[] = [];
  const arrivals = new EventEmitter();
  const server = createServer(async (incoming, response) => {
    const body = await buffer(incoming).catch(() => undefined);
    if (!body) return;
    const request = { target: incoming.url ?? '', headers: incoming.headers, body };
    requests.push(request);
    arrivals.emit('request');
    const answered = await answer(requests.length, request);
    if (answered === 'cut') response.destroy();
    else if (answered !== 'stall')
      response.writeHead(answered.status, { 'content-type': 'text/plain' }).end(answered.body);
  });
  const { port, stop, restart } = await listen(server);
  return {
    url: `http://127.0.0.1:${port}/hooks?key=1`,
    requests,
    async arrived(count) {
      while (requests.length < count) await once(arrivals, 'request');
    },
    stop,
    restart,
  };
}
