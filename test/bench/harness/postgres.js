import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const DEBIAN = '/usr/lib/postgresql';
const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort() : [];
const programs = versions
  .map((version) => join(DEBIAN, version, 'bin'))
  .findLast((path) => existsSync(join(path, 'initdb')));

/** Whether PostgreSQL is installed. */
export const hasPostgres = programs !== undefined;

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

/** PostgreSQL refuses to run as root. */
function user() {
  if (process.getuid() !== 0) return {};
  const id = (flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** Starts a server on a loopback port. @returns the URL of its database, and a function that stops it */
export async function startServer() {
  const [directory, port, owner] = [await mkdtemp(join(tmpdir(), 'partnerctl-bench-')), await freePort(), user()];
  if (owner.uid !== undefined) await chown(directory, owner.uid, owner.gid);
  await chmod(directory, 0o755);
  const [data, options] = [join(directory, 'data'), { ...owner, cwd: '/' }];
  execFileSync(join(programs, 'initdb'), ['-D', data, '-A', 'trust', '-U', 'ops', '--no-sync'], {
    ...options,
    stdio: 'ignore',
  });
  const settings = ['listen_addresses=127.0.0.1', `port=${port}`, `unix_socket_directories=${directory}`];
  const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])];
  const server = spawn(join(programs, 'postgres'), args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
  for await (const line of createInterface({ input: server.stderr })) if (line.includes('ready to accept')) break;
  server.stderr.resume();
  return {
    address: `postgres://ops@127.0.0.1:${port}/postgres`,
    async stop() {
      const ended = once(server, 'exit');
      server.kill('SIGINT');
      await ended;
      await rm(directory, { recursive: true });
    },
  };
}
