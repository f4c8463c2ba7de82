import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { PostgresTarget } from '../state/postgres-address.ts';

/** The SSLRequest message: 8 bytes, with the code 80877103. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
const SSL_ACCEPTED = 'S'.charCodeAt(0);
const SSL_REFUSED = 'N'.charCodeAt(0);

/** The server does not encrypt connections. */
export class NoTlsError extends Error {}

/** Waits for an event. @returns its argument @throws Error if the socket fails or is closed */
function next(socket: Socket, event: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    socket.once(event, resolve);
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('The server closed the connection.')));
  });
}

type Endpoint = Pick<PostgresTarget['connection'], 'host' | 'port' | 'ssl'>;

/**
 * Encrypts a connection. Never falls back to plain text.
 * @returns the encrypted socket
 * @throws NoTlsError if the server does not offer TLS; Error if the verification fails
 */
async function encrypt(socket: Socket, ssl: Exclude<Endpoint['ssl'], false>): Promise<Socket> {
  socket.write(SSL_REQUEST);
  const response = await next(socket, 'data');
  const [first] = Buffer.isBuffer(response) ? response : [];
  if (first === SSL_REFUSED) throw new NoTlsError('The server does not offer TLS.');
  if (first !== SSL_ACCEPTED) throw new Error('The server does not answer as PostgreSQL does.');
  const encrypted = connectTls({ socket, ...ssl });
  await next(encrypted, 'secureConnect');
  return encrypted;
}

/**
 * Connects to the server.
 * @param onOpen called at once with the socket, to destroy it or to count received bytes
 * @throws NoTlsError if the server does not offer TLS; Error if the connection or the verification fails
 */
export async function openSocket({ host, port, ssl }: Endpoint, onOpen: (socket: Socket) => void): Promise<Socket> {
  const socket = host.startsWith('/')
    ? connectTcp({ path: `${host}/.s.PGSQL.${port}` })
    : connectTcp({ host, port, noDelay: true });
  onOpen(socket);
  try {
    await next(socket, 'connect');
    return ssl === false ? socket : await encrypt(socket, ssl);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}
