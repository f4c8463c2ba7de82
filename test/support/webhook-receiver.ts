import { EventEmitter, once } from 'node:events';
import { Webhook } from 'standardwebhooks';
import { startFakeService } from './fake-service.ts';

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

export interface Received {
  readonly id: string;
  /** Path and query, as sent. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read any field of it
  readonly json: any;
}

export interface Receiver {
  readonly url: string;
  /** The complete requests, in order of arrival. */
  readonly received: readonly Received[];
  /** Resolves once this many requests have arrived. */
  arrived(count: number): Promise<void>;
  /** Cuts all connections and stops listening. */
  close(): Promise<void>;
  /** Listens again on the same port. */
  restart(): Promise<void>;
}

/** A status; a status with a body; a closed connection; or no response. */
type Answer = number | { readonly status: number; readonly body: string } | 'cut' | 'stall';

/**
 * Starts a receiver of webhooks: of those that the sandbox sends, or that `webhook listen` forwards. It stops when the test ends.
 * @param answers the first responses, of which the last one is repeated; or a function that chooses the response to the n-th request
 */
export async function startReceiver(
  answers: readonly Answer[] | ((received: Received, number: number) => Answer | Promise<Answer>) = [204],
): Promise<Receiver> {
  const received: Received[] = [];
  const arrivals = new EventEmitter();
  const service = await startFakeService(async ({ path, headers, body }, response) => {
    const own = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    const request = { id: own['webhook-id'] ?? '', path, headers: own, body, json: parseJson(body) };
    const number = received.push(request);
    arrivals.emit('received');
    const answer =
      typeof answers === 'function'
        ? await answers(request, number)
        : (answers[Math.min(number, answers.length) - 1] ?? 204);
    if (answer === 'cut') response.destroy();
    else if (typeof answer === 'number') response.writeHead(answer).end();
    else if (answer !== 'stall') response.writeHead(answer.status).end(answer.body);
  });
  return {
    url: `${new URL(service.baseUrl).origin}/hooks`,
    received,
    async arrived(count) {
      while (received.length < count) await once(arrivals, 'received');
    },
    close: service.stop,
    restart: service.restart,
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The event, if the reference implementation accepts the delivery. @throws WebhookVerificationError */
export function verify({ body, headers }: Received, secret: string): unknown {
  return new Webhook(secret).verify(body, headers);
}
