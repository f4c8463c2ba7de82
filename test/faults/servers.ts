import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { onTestFinished } from 'vitest';
import { CERTIFICATE, KEY } from './certificate.ts';

export interface Listening {
  readonly port: number;
  /** `http://127.0.0.1:<port>/v1` */
  readonly baseUrl: string;
}

/** Listens on a free loopback port until the test ends; connections that are still open then are cut. */
export async function listen(server: Server, scheme = 'http'): Promise<Listening> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return { port: address.port, baseUrl: `${scheme}://127.0.0.1:${address.port}/v1` };
}

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** Two requests on one connection have the same. */
  readonly connection: Socket;
}

export interface HttpServer extends Listening {
  /** Every request, in the order in which they were read to their end. */
  readonly received: Received[];
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString();
}

/** Answers one request. `count` is its number, from 1. */
export type Answerer = (request: Received, response: Parameters<RequestListener>[1], count: number) => unknown;

/** A real HTTP server that keeps what it received. */
export async function httpServer(answer: Answerer): Promise<HttpServer> {
  const received: Received[] = [];
  const server = createHttpServer(async (request, response) => {
    const { method = '', url: path = '', headers, socket: connection } = request;
    let body: string;
    try {
      body = await textOf(request);
    } catch {
      return;
    }
    const whole = { method, path, headers, body, connection };
    received.push(whole);
    await answer(whole, response, received.length);
  });
  return { ...(await listen(server)), received };
}

export function sendJson(
  response: Parameters<RequestListener>[1],
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** The same text to every connection, byte for byte, whatever it asked; then `after` is called. */
export async function rawServer(
  reply: string | ((count: number) => string),
  after: (socket: Socket, count: number) => unknown = (socket) => socket.end(),
): Promise<Listening & { readonly received: string[] }> {
  const received: string[] = [];
  let connections = 0;
  const server = createTcpServer((socket) => {
    connections += 1;
    const count = connections;
    let text = '';
    let answered = false;
    socket.on('data', (chunk) => {
      text += String(chunk);
      const end = text.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (answered || end === -1 || text.length < end + 4 + length) return;
      answered = true;
      received.push(text);
      socket.write(typeof reply === 'string' ? reply : reply(count), () => after(socket, count));
    });
  });
  return { ...(await listen(server)), received };
}

/** A server behind TLS with the certificate of these tests. */
export async function tlsServer(reply: string): Promise<Listening & { readonly received: string[] }> {
  const received: string[] = [];
  const server = createTlsServer({ cert: CERTIFICATE, key: KEY }, (socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      received.push(String(chunk));
      socket.end(reply);
    });
  });
  server.on('tlsClientError', () => undefined);
  return { ...(await listen(server, 'https')), received };
}

/**
 * A port on which nothing listens. The tests beside this one are not given it either: what is handed out to those who ask for
 * any port lies above all of these.
 */
export async function closedPort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_768);
    const server = createTcpServer().listen(port, '127.0.0.1');
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

/** No name of a host is that long, so that no server of names is asked: one may take its time, or know every name. */
export const UNKNOWN_HOST = `${'x'.repeat(64)}.invalid`;

/** A whole HTTP/1.1 answer as text. */
export function rawJson(body: unknown, status = '200 OK', headers = ''): string {
  const text = JSON.stringify(body);
  return `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n${headers}\r\n${text}`;
}
