import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import { expect, onTestFinished } from 'vitest';
import type { Service } from './service.ts';

export interface Holding {
  /** The environment in which the service is reached this way. */
  readonly env: Record<string, string>;
  /** Resolves once so many requests wait. */
  held(count?: number): Promise<void>;
  /** Lets go on what waits, and all that comes later. */
  release(): void;
}

/**
 * A way to a service on which requests wait, their bodies unread, until they may go on: what is to happen meanwhile takes
 * different time on different machines.
 */
export async function holding(
  { sandbox, env }: Service,
  holds: (request: IncomingMessage) => boolean,
): Promise<Holding> {
  const waiting: (() => void)[] = [];
  let isOpen = false;
  const server = createServer((incoming, response) => {
    const forward = (): void => {
      const { method, headers } = incoming;
      const onward = request(
        new URL(incoming.url ?? '', sandbox.baseUrl),
        // A kept-alive connection may be closed at the very moment it is used again.
        { method, headers: { ...headers, connection: 'close' }, agent: false },
        (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(response);
        },
      );
      onward.on('error', () => response.destroy());
      response.on('close', () => onward.destroy());
      incoming.pipe(onward);
    };
    if (isOpen || !holds(incoming)) forward();
    else waiting.push(forward);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return {
    env: { ...env, PARTNER_BASE_URL: `http://127.0.0.1:${port}/v1` },
    held: async (count = 1) => expect.poll(() => waiting.length).toBeGreaterThanOrEqual(count),
    release() {
      isOpen = true;
      for (const forward of waiting.splice(0)) forward();
    },
  };
}
