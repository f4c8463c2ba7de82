import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { findClosedPort, listen } from './tcp-server.ts';

/** A PostgreSQL server only for this test run, on a Unix socket and on a loopback port. */
export interface PostgresServer {
  /** The directory of the socket. */
  readonly directory: string;
  readonly port: number;
  /** Creates a database. @param options of CREATE DATABASE @returns its URL, on the socket */
  database(options?: string): string;
  /** The URL of the same database on a loopback port: the server's, or one that leads to it. */
  overTcp(address: string, port?: number): string;
  /** Runs SQL in a database. @returns the output of psql, one line per row */
  sql(address: string, statement: string): string;
  /** Kills the server, like a power failure, and starts it again. */
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

async function startServer(programs: string, directory: string, more: readonly string[]): Promise<ChildProcess> {
  const settings = ['listen_addresses=127.0.0.1', `unix_socket_directories=${directory}`, 'max_connections=100'];
  const args = ['-D', join(directory, 'data'), ...[...settings, ...more].flatMap((setting) => ['-c', setting])];
  const server = spawn(join(programs, 'postgres'), args, { ...user(), cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] });
  for await (const line of createInterface({ input: server.stderr })) {
    if (line.includes('ready to accept connections')) break;
  }
  server.stderr.resume();
  if (server.exitCode !== null) throw new Error('PostgreSQL does not start.');
  return server;
}

interface ServerOptions {
  /** Settings of postgresql.conf: `ssl=on`. */
  readonly settings?: readonly string[];
  /** The lines of pg_hba.conf for connections over TCP. Those on the socket need no password. */
  readonly hostRules?: readonly string[];
  /** Files for the data directory, by name. */
  readonly files?: Readonly<Record<string, string>>;
}

/** Starts a server in a directory for temporary files. @param programs see `postgresPrograms` */
export async function startPostgres(
  programs: string,
  { settings = [], hostRules, files = {} }: ServerOptions = {},
): Promise<PostgresServer> {
  const directory = mkdtempSync(join(tmpdir(), 'partnerctl-pg-'));
  const { uid, gid } = user();
  if (uid !== undefined && gid !== undefined) chownSync(directory, uid, gid);
  chmodSync(directory, 0o755);
  const init = ['-D', join(directory, 'data'), '-A', 'trust', '-U', 'ops', '--no-sync', '-E', 'UTF8', '--locale=C'];
  execFileSync(join(programs, 'initdb'), init, { ...user(), cwd: '/', stdio: 'ignore' });
  const data = join(directory, 'data');
  if (hostRules) writeFileSync(join(data, 'pg_hba.conf'), ['local all all trust', ...hostRules, ''].join('\n'));
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(data, name), text, { mode: 0o600 });
    if (uid !== undefined && gid !== undefined) chownSync(join(data, name), uid, gid);
  }
  const port = await findClosedPort();
  const allSettings = [`port=${port}`, ...settings];
  let server = await startServer(programs, directory, allSettings);
  let databases = 0;
  const psql = (database: string, statement: string): string => {
    const args = ['-h', directory, '-p', String(port), '-U', 'ops', '-d', database, '-qtAc', statement];
    return execFileSync(join(programs, 'psql'), args, { encoding: 'utf8' }).trim();
  };
  return {
    directory,
    port,
    database(options = '') {
      databases += 1;
      const name = `state${databases}`;
      psql('postgres', `create database ${name} ${options}`);
      return `postgres://ops@localhost:${port}/${name}?host=${encodeURIComponent(directory)}`;
    },
    overTcp: (address, to = port) => `postgres://ops@127.0.0.1:${to}${new URL(address).pathname}`,
    sql: (address, statement) => psql(new URL(address).pathname.slice(1), statement),
    async crash() {
      const ended = once(server, 'exit');
      server.kill('SIGQUIT');
      await ended;
      server = await startServer(programs, directory, allSettings);
    },
    async stop() {
      const ended = once(server, 'exit');
      server.kill('SIGINT');
      await ended;
      await rm(directory, { recursive: true, force: true });
    },
  };
}

const PGBOUNCER = '/usr/sbin/pgbouncer';

/** Whether PgBouncer is installed. */
export function hasPgBouncer(): boolean {
  return existsSync(PGBOUNCER);
}

/**
 * Starts PgBouncer in transaction mode, with two connections to a server.
 * @returns its loopback port, and a function that stops it
 */
export async function startPgBouncer(server: PostgresServer): Promise<{ port: number; stop(): Promise<void> }> {
  const port = await findClosedPort();
  const settings = [
    '[databases]',
    `* = host=${server.directory} port=${server.port} user=ops`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    'default_pool_size = 2',
  ];
  const path = join(server.directory, 'pgbouncer.ini');
  writeFileSync(path, `${settings.join('\n')}\n`, { mode: 0o644 });
  const child = spawn(PGBOUNCER, [path], { ...user(), cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] });
  for await (const line of createInterface({ input: child.stderr })) if (line.includes('process up')) break;
  child.stderr.resume();
  if (child.exitCode !== null) throw new Error('PgBouncer does not start.');
  return {
    port,
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** The average number of messages before a connection is cut. */
const MESSAGES_PER_CUT = 80;

/**
 * Starts a proxy to a server that cuts every connection after a random number of messages, so that a response is lost now and
 * then.
 * @param random from 0 up to 1
 */
export async function startCuttingProxy(
  port: number,
  random: () => number,
): Promise<{ readonly port: number; cuts(): number }> {
  let cuts = 0;
  const proxy = createServer((client) => {
    const server = connect(port, '127.0.0.1');
    let left = Math.ceil(random() * 2 * MESSAGES_PER_CUT);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      from.setNoDelay(true);
      from.on('error', () => undefined);
      from.on('close', () => to.destroy());
      from.on('data', (chunk) => {
        left -= 1;
        if (left > 0) return void to.write(chunk);
        cuts += 1;
        from.destroy();
      });
    }
  });
  return { port: (await listen(proxy)).port, cuts: () => cuts };
}
