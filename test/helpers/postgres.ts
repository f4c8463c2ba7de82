import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A PostgreSQL server of this test run alone, on a Unix socket. */
export interface PostgresServer {
  /** The address of a fresh database. */
  database(): string;
  /** Runs SQL in a database. @returns what psql prints, a line for each row */
  sql(address: string, statement: string): string;
  /** Ends the server at once, as a power failure does, and starts it again. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

const DEBIAN = '/usr/lib/postgresql';

/** The directory of PostgreSQL's programs; undefined if it is not installed. */
export function postgresPrograms(): string | undefined {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort() : [];
  return versions.map((version) => join(DEBIAN, version, 'bin')).findLast((path) => existsSync(join(path, 'initdb')));
}

/** PostgreSQL refuses to run as root. */
function user(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

async function startServer(programs: string, directory: string): Promise<ChildProcess> {
  const settings = ['listen_addresses=', `unix_socket_directories=${directory}`, 'max_connections=100'];
  const args = ['-D', join(directory, 'data'), ...settings.flatMap((setting) => ['-c', setting])];
  const server = spawn(join(programs, 'postgres'), args, { ...user(), cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] });
  for await (const line of createInterface({ input: server.stderr })) {
    if (line.includes('ready to accept connections')) break;
  }
  server.stderr.resume();
  if (server.exitCode !== null) throw new Error('PostgreSQL does not start.');
  return server;
}

/** Starts a server in a directory for temporary files. @param programs see `postgresPrograms` */
export async function startPostgres(programs: string): Promise<PostgresServer> {
  const directory = mkdtempSync(join(tmpdir(), 'partnerctl-pg-'));
  const { uid, gid } = user();
  if (uid !== undefined && gid !== undefined) chownSync(directory, uid, gid);
  chmodSync(directory, 0o755);
  const init = ['-D', join(directory, 'data'), '-A', 'trust', '-U', 'ops', '--no-sync', '-E', 'UTF8', '--locale=C'];
  execFileSync(join(programs, 'initdb'), init, { ...user(), cwd: '/', stdio: 'ignore' });
  let server = await startServer(programs, directory);
  let databases = 0;
  const psql = (database: string, statement: string): string =>
    execFileSync(join(programs, 'psql'), ['-h', directory, '-U', 'ops', '-d', database, '-qtAc', statement], {
      encoding: 'utf8',
    }).trim();
  return {
    database() {
      databases += 1;
      const name = `state${databases}`;
      psql('postgres', `create database ${name}`);
      return `postgres://ops@localhost/${name}?host=${encodeURIComponent(directory)}`;
    },
    sql: (address, statement) => psql(new URL(address).pathname.slice(1), statement),
    async crash() {
      const ended = once(server, 'exit');
      server.kill('SIGQUIT');
      await ended;
      server = await startServer(programs, directory);
    },
    async stop() {
      const ended = once(server, 'exit');
      server.kill('SIGINT');
      await ended;
      await rm(directory, { recursive: true, force: true });
    },
  };
}
