import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/* Servers for faults below HTTP: raw bytes, connections that break, ports on which nobody listens. */

/** Listens on a loopback port, 0 for a free one, until the test ends; connections that are still open then are cut. */
export async function listen(server: Server, scheme: 'http' | 'https' = 'http', port = 0) {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
  });
  server.on('tlsClientError', () => undefined);
  const start = async (on: number): Promise<void> => {
    server.listen(on, '127.0.0.1');
    await once(server, 'listening');
  };
  const stop = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  await start(port);
  onTestFinished(stop);
  const taken: number = Object(server.address()).port;
  return {
    port: taken,
    baseUrl: `${scheme}://127.0.0.1:${taken}/v1`,
    /** Cuts all connections and stops listening. */
    stop,
    /** Listens again on the same port. */
    restart: () => start(taken),
  };
}

/**
 * Sends the same bytes on every connection once it has read a complete request, whatever that contains.
 * @param reply the bytes, or a function that returns them for the number of the connection, from 1
 * @param after called once they are sent; closes the connection by default
 */
export async function startRawService(
  reply: string | ((count: number) => string),
  after: (socket: Socket) => unknown = (socket) => socket.end(),
) {
  /** Every request, headers and body in one text. */
  const requests: string[] = [];
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    const count = connections;
    let text = '';
    const read = (chunk: Buffer): void => {
      text += String(chunk);
      const end = text.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (end === -1 || text.length < end + 4 + length) return;
      socket.off('data', read);
      requests.push(text);
      socket.write(typeof reply === 'string' ? reply : reply(count), () => after(socket));
    };
    socket.on('data', read);
  });
  return { ...(await listen(server)), requests };
}

/** A proxy that tunnels every CONNECT request to one server. `requests` are these, and `seen` is what clients sent after them. */
export async function proxyTo(port: number) {
  const seen: Buffer[] = [];
  const proxy = await startRawService('HTTP/1.1 200 Connection Established\r\n\r\n', (socket) => {
    const upstream = connect(port, '127.0.0.1');
    upstream.on('error', () => undefined).on('close', () => socket.destroy());
    socket.on('close', () => upstream.destroy());
    socket.on('data', (chunk: Buffer) => seen.push(chunk));
    socket.pipe(upstream).pipe(socket);
  });
  return { ...proxy, url: `http://127.0.0.1:${proxy.port}`, seen };
}

/** A complete HTTP/1.1 response as text. */
export function rawJson(body: unknown, status = '200 OK', headers = ''): string {
  const text = JSON.stringify(body);
  return `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n${headers}\r\n${text}`;
}

/** A port on which nothing listens. It is below those that the system assigns, so that no other test gets it. */
export async function findClosedPort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_768);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}

/** A label this long cannot be a host name, so that no name server is asked: one may be slow, or resolve every name. */
export const UNRESOLVABLE_HOST = `${'x'.repeat(64)}.invalid`;
