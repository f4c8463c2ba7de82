import { truncateSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { start } from '../e2e/program.ts';
import { CERTIFICATE, KEY } from '../helpers/certificate.ts';
import { tempDirectory } from '../helpers/run.ts';
import { write } from '../helpers/service.ts';
import { listen, rawJson } from '../helpers/tcp-server.ts';
import { TOKEN } from './client.ts';

const RUNS = 3;

/** Answers to the first bytes of a request, and closes the connection with the rest of it unread, which resets it. */
function refuseAtOnce(reply: string): (socket: Socket) => void {
  return (socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.pause();
      socket.write(reply, () => socket.destroy());
    });
  };
}

const SERVERS: Record<string, (reply: string) => ReturnType<typeof listen>> = {
  http: (reply) => listen(createServer(refuseAtOnce(reply))),
  https: (reply) => listen(createTlsServer({ cert: CERTIFICATE, key: KEY }, refuseAtOnce(reply)), 'https'),
};

describe.each(Object.entries(SERVERS))('a refusal with which the connection is closed, over %s', (_, serve) => {
  it.each([
    ['401 Unauthorized', 401, 3],
    ['402 Payment Required', 402, 6],
    ['413 Content Too Large', 413, 1],
  ])('is read all the same: %s', async (line, status, exit) => {
    const { baseUrl } = await serve(rawJson({ message: 'Not this.' }, line, 'connection: close\r\n'));
    const path = write('large.bin', '');
    truncateSync(path, 20_000_000);
    const words = ['upload', path, '--retries', '0', '-o', 'json', '--state', join(tempDirectory(), 'state.jsonl')];
    const env = {
      PARTNER_BASE_URL: baseUrl,
      PARTNER_TOKEN: TOKEN,
      NODE_EXTRA_CA_CERTS: write('authority.pem', CERTIFICATE),
    };
    // What comes first, the answer or the end of the connection, is a matter of luck.
    for (let run = 0; run < RUNS; run += 1) {
      const { exitCode, stderr } = await start(words, { env });
      expect([exitCode, JSON.parse(stderr).error.status]).toEqual([exit, status]);
    }
  });
});
