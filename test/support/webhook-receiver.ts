import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { onTestFinished } from 'vitest';

export interface Received {
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read any field of it
  readonly json: any;
}

export interface Receiver {
  readonly url: string;
  readonly port: number;
  readonly received: readonly Received[];
  /** Ends all connections and stops listening. */
  close(): Promise<void>;
}

type Answer = number | ((request: IncomingMessage, response: ServerResponse, number: number) => void);

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
}

/**
 * Starts a receiver of webhooks that is closed when the test ends.
 * @param answers the statuses of the first responses, or a function that returns them; the last one is repeated
 */
export async function startReceiver(answers: readonly Answer[] = [204], port = 0): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const body = await readText(request).catch(() => undefined);
    if (body === undefined) return;
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    received.push({ id: headers['webhook-id'] ?? '', headers, body, json: JSON.parse(body) });
    const answer = answers[Math.min(received.length, answers.length) - 1] ?? 204;
    if (typeof answer === 'function') answer(request, response, received.length);
    else response.writeHead(answer).end();
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : 0;
  const close = async (): Promise<void> => {
    if (!server.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  onTestFinished(close);
  return { url: `http://127.0.0.1:${bound}/hooks`, port: bound, received, close };
}

/** The event, if the reference implementation accepts the delivery. @throws WebhookVerificationError */
export function verify({ body, headers }: Received, secret: string): unknown {
  return new Webhook(secret).verify(body, headers);
}
