import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDaemon } from './program.ts';
import { findClosedPort, listen } from './tcp-server.ts';

const DEBIAN = '/usr/lib/postgresql';

/** The directory of PostgreSQL's programs; undefined if it is not installed. */
export function postgresPrograms(): string | undefined {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort() : [];
  return versions.map((version) => join(DEBIAN, version, 'bin')).findLast((path) => existsSync(join(path, 'initdb')));
}

/** PostgreSQL refuses to run as root. */
export function postgresUser(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

interface ServerOptions {
  /** Settings of postgresql.conf: `ssl=on`. */
  readonly settings?: readonly string[];
  /** The lines of pg_hba.conf for connections over TCP. Those on the socket need no password. */
  readonly hostRules?: readonly string[];
  /** Files for the data directory, by name. */
  readonly files?: Readonly<Record<string, string>>;
}

export type PostgresServer = Awaited<ReturnType<typeof startPostgres>>;

/**
 * Starts a PostgreSQL server only for this test run, on a Unix socket in a directory for temporary files, and on a loopback port.
 * @param programs see `postgresPrograms`
 */
export async function startPostgres(programs: string, { settings = [], hostRules, files = {} }: ServerOptions = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'partnerctl-pg-'));
  const own = (path: string): void => {
    const { uid, gid } = postgresUser();
    if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid);
  };
  own(directory);
  chmodSync(directory, 0o755);
  const data = join(directory, 'data');
  const init = ['-D', data, '-A', 'trust', '-U', 'ops', '--no-sync', '-E', 'UTF8', '--locale=C'];
  execFileSync(join(programs, 'initdb'), init, { ...postgresUser(), cwd: '/', stdio: 'ignore' });
  if (hostRules) writeFileSync(join(data, 'pg_hba.conf'), ['local all all trust', ...hostRules, ''].join('\n'));
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(data, name), text, { mode: 0o600 });
    own(join(data, name));
  }
  const port = await findClosedPort();
  const address = ['listen_addresses=127.0.0.1', `port=${port}`, `unix_socket_directories=${directory}`];
  const args = ['-D', data, ...[...address, 'max_connections=100', ...settings].flatMap((setting) => ['-c', setting])];
  const startServer = () =>
    startDaemon(join(programs, 'postgres'), args, 'ready to accept connections', postgresUser());
  let end = await startServer();
  let databases = 0;
  const psql = (database: string, statement: string): string => {
    const flags = ['-h', directory, '-p', String(port), '-U', 'ops', '-d', database, '-qtAc', statement];
    return execFileSync(join(programs, 'psql'), flags, { encoding: 'utf8' }).trim();
  };
  return {
    /** The directory of the socket. */
    directory,
    port,
    /** Creates a database. @param options of CREATE DATABASE @returns its URL, on the socket */
    database(options = ''): string {
      databases += 1;
      const name = `state${databases}`;
      psql('postgres', `create database ${name} ${options}`);
      return `postgres://ops@localhost:${port}/${name}?host=${encodeURIComponent(directory)}`;
    },
    /** The URL of the same database on a loopback port: the server's, or one that leads to it. */
    overTcp: (url: string, to = port) => `postgres://ops@127.0.0.1:${to}${new URL(url).pathname}`,
    /** Runs SQL in a database. @returns the output of psql, one line per row */
    sql: (url: string, statement: string) => psql(new URL(url).pathname.slice(1), statement),
    /** Kills the server, like a power failure, and starts it again. */
    async crash(): Promise<void> {
      await end('SIGQUIT');
      end = await startServer();
    },
    async stop(): Promise<void> {
      await end('SIGINT');
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** The average number of messages before a connection is cut. */
const MESSAGES_PER_CUT = 80;

/**
 * Starts a proxy to a server that cuts every connection after a random number of messages, so that a response is lost now and
 * then. It can be stopped and restarted, as a server that is away.
 * @param random from 0 up to 1; Infinity to cut nothing
 */
export async function startCuttingProxy(port: number, random: () => number) {
  let cuts = 0;
  const proxy = createServer((client) => {
    const server = connect(port, '127.0.0.1');
    let left = Math.ceil(random() * 2 * MESSAGES_PER_CUT);
    const relay = (from: Socket, to: Socket): void => {
      from.setNoDelay(true).on('error', () => undefined);
      from.on('close', () => to.destroy());
      from.on('data', (chunk) => {
        left -= 1;
        if (left > 0) return void to.write(chunk);
        cuts += 1;
        from.destroy();
      });
    };
    relay(client, server);
    relay(server, client);
  });
  return { ...(await listen(proxy)), cuts: () => cuts };
}
