import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';

/** A proxy between the processes of a proof and a database. Cuts connections and delays responses. */
export interface CuttingProxy {
  readonly port: number;
  readonly counts: { cut: number; held: number };
  close(): void;
}

/** The average number of messages before a connection is cut. */
const MESSAGES_PER_CUT = 80;
const SHARE_HELD = 0.03;
const LONGEST_HOLD_MS = 100;

function connectTo(host: string, port: number): Socket {
  return host.startsWith('/') ? connect(join(host, `.s.PGSQL.${port}`)) : connect(port, host);
}

/**
 * Starts a proxy on loopback.
 * @param target the database: a host, or the directory of a Unix socket
 * @param random from 0 up to 1; decides which messages are lost or delayed
 */
export async function startCuttingProxy(
  target: { readonly host: string; readonly port: number },
  random: () => number,
): Promise<CuttingProxy> {
  const counts = { cut: 0, held: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const database = connectTo(target.host, target.port);
    const end = (): void => {
      client.destroy();
      database.destroy();
    };
    let left = Math.ceil(random() * 2 * MESSAGES_PER_CUT);
    for (const socket of [client, database]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', end);
      socket.on('close', () => {
        sockets.delete(socket);
        end();
      });
      socket.on('data', (chunk: Buffer) => {
        left -= 1;
        if (left <= 0) {
          counts.cut += 1;
          return end();
        }
        const other = socket === client ? database : client;
        if (socket === client || random() >= SHARE_HELD) return void other.write(chunk);
        counts.held += 1;
        socket.pause();
        setTimeout(() => {
          other.write(chunk);
          socket.resume();
        }, random() * LONGEST_HOLD_MS);
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    counts,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
