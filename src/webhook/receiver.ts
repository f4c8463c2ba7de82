import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LocalError } from '../errors.ts';
import { errorMessage } from '../platform/error-code.ts';
import type { HeaderList, SentWebhook } from './delivery.ts';

interface ReceiverOptions {
  /** 0 for a free one. */
  readonly port: number;
  /** By default a random one that nobody can guess. */
  readonly path?: string | undefined;
  /** Returns the status of the response. */
  onDelivery(sent: SentWebhook): Promise<number>;
}

/** The longest body of a delivery, in bytes. Payloads are small by convention (20 KiB). */
const MAX_BODY_BYTES = 1024 * 1024;

/** Reads a body. @returns undefined if it is too long */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Destroying the request would close the connection before the response.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function headerPairs({ rawHeaders }: IncomingMessage): HeaderList {
  return rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [[name, rawHeaders[index + 1] ?? ''] as const] : []));
}

/** @returns the port */
async function listenOn(server: Server, port: number): Promise<number> {
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  } catch (error) {
    throw new LocalError(`Cannot listen on port ${port} of this machine.`, {
      why: errorMessage(error),
      hint: 'Use another port, or 0 for any free one.',
      cause: error,
    });
  }
  return (server.address() as AddressInfo).port;
}

/**
 * Receives webhooks on a loopback address: POST requests to one path, with bodies of up to 1 MiB. Everything else
 * gets a 404, 405, or 413.
 * @returns `url`: the address to configure at the sender
 * @throws LocalError if the port cannot be used
 */
export async function startReceiver({ port, onDelivery, ...options }: ReceiverOptions) {
  const path = options.path ?? `/${randomBytes(16).toString('hex')}`;
  const inProgress = new Set<Promise<unknown>>();

  async function answer(request: IncomingMessage): Promise<number> {
    if (request.url?.split('?')[0] !== path) return 404;
    if (request.method !== 'POST') return 405;
    const body = await readBody(request);
    if (!body) return 413;
    const handled = onDelivery({ headers: headerPairs(request), body });
    inProgress.add(handled);
    return await handled.finally(() => inProgress.delete(handled));
  }
  const server = createServer(async (request, response) => {
    try {
      response.writeHead(await answer(request), { 'content-length': 0 }).end();
    } catch {
      // The sender has disconnected.
      response.destroy();
    }
  });
  const actualPort = await listenOn(server, port);

  /** Stops listening, responds to the deliveries that have arrived, and closes all other connections. */
  async function close(): Promise<void> {
    const closed = once(server, 'close');
    server.close();
    while (inProgress.size > 0) await Promise.allSettled(inProgress);
    // Responses written in this turn of the event loop are sent in the next one.
    await new Promise((resolve) => setImmediate(resolve));
    server.closeAllConnections();
    await closed;
  }
  return { url: `http://127.0.0.1:${actualPort}${path}`, close };
}
