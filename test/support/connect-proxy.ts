import { createServer } from 'node:http';
import { connect } from 'node:net';
import { type Listening, listen } from './tcp-server.ts';

interface ConnectProxy extends Listening {
  /** Every byte that clients sent, and the CONNECT requests. */
  readonly seen: Buffer[];
  readonly connects: { url: string; authorization: string | undefined }[];
  readonly url: string;
}

/** A proxy that tunnels every CONNECT request to one server and records what clients send. */
export async function proxyTo(port: number): Promise<ConnectProxy> {
  const seen: Buffer[] = [];
  const connects: ConnectProxy['connects'] = [];
  const server = createServer((request, response) => {
    seen.push(Buffer.from(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`));
    response.writeHead(500).end();
  });
  server.on('connect', (request, socket, head) => {
    connects.push({ url: request.url ?? '', authorization: request.headers['proxy-authorization'] });
    seen.push(Buffer.from(JSON.stringify(request.headers)), head);
    const upstream = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      socket.on('data', (chunk: Buffer) => {
        seen.push(chunk);
        upstream.write(chunk);
      });
      upstream.on('data', (chunk) => socket.write(chunk));
    });
    upstream.on('close', () => socket.destroy());
    socket.on('close', () => upstream.destroy());
    for (const end of [upstream, socket]) end.on('error', () => undefined);
  });
  const listening = await listen(server);
  return { ...listening, seen, connects, url: `http://127.0.0.1:${listening.port}` };
}
