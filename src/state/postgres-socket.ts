import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { PostgresTarget } from './postgres-address.ts';

/** Asks the server whether it encrypts: a message of 8 bytes, with the number 80877103. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
const SSL_ACCEPTED = 'S'.charCodeAt(0);
const SSL_REFUSED = 'N'.charCodeAt(0);

/** The server does not encrypt connections. */
export class NoTlsError extends Error {}

/** Resolves with what the event carries. @throws the error of the socket, or that it was closed */
function next(socket: Socket, event: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    socket.once(event, resolve);
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('The server closed the connection.')));
  });
}

type Endpoint = Pick<PostgresTarget['connection'], 'host' | 'port' | 'ssl'>;

/**
 * Encrypts a connection as the address asks for; it is never used in plain text instead.
 * @returns the socket to use
 * @throws NoTlsError; the error of the verification
 */
async function encrypt(socket: Socket, ssl: Exclude<Endpoint['ssl'], false>): Promise<Socket> {
  socket.write(SSL_REQUEST);
  const answer = await next(socket, 'data');
  const [first] = Buffer.isBuffer(answer) ? answer : [];
  if (first === SSL_REFUSED) throw new NoTlsError('The server does not offer TLS.');
  if (first !== SSL_ACCEPTED) throw new Error('The server does not answer as PostgreSQL does.');
  const encrypted = connectTls({ socket, ...ssl });
  await next(encrypted, 'secureConnect');
  return encrypted;
}

/**
 * Connects to the server.
 * @param onOpen called with the connection at once, to end it or to see how much it receives
 * @throws NoTlsError; the error of the connection or of the certificate's verification
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
