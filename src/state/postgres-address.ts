import { readFile, stat } from 'node:fs/promises';
import { isIP } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describeFileError, LocalError, UsageError } from '../errors.ts';
import type { Environment } from '../platform/io.ts';
import type { StateLocation } from './location.ts';

interface Login {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
}

/** A table of a PostgreSQL database. */
export interface PostgresTarget {
  /** The address without a password. */
  readonly label: string;
  /** The quoted name of the table. */
  readonly table: string;
  readonly user: string;
  readonly connection: Login & {
    readonly password?: string;
    readonly ssl: false | { readonly rejectUnauthorized: boolean; readonly servername?: string; readonly ca?: string };
  };
}

const DEFAULT_TABLE = 'partnerctl_state';
const SSL_MODES = ['disable', 'require', 'verify-full'] as const;

/** Whether a host is this machine: loopback, or the directory of a Unix socket. */
function isLocal(host: string): boolean {
  return host.startsWith('/') || host === 'localhost' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** Quotes `state` or `schema.state`. @throws UsageError if it is not a valid name */
function quoteTable(name: string): string {
  const parts = name.split('.');
  if (parts.length > 2 || !parts.every((part) => /^[A-Za-z_][A-Za-z0-9_$]{0,62}$/.test(part))) {
    throw new UsageError(`${JSON.stringify(name)} is not the name of a table.`, {
      hint: 'Use ?table=<table> or ?table=<schema>.<table>, with letters, digits, and underscores.',
    });
  }
  return parts.map((part) => `"${part}"`).join('.');
}

function sslOf(url: URL, host: string, ca: string | undefined): PostgresTarget['connection']['ssl'] {
  const mode = url.searchParams.get('sslmode') ?? (isLocal(host) ? 'disable' : 'verify-full');
  if (!SSL_MODES.some((each) => each === mode)) {
    throw new UsageError(`sslmode=${mode} is not supported.`, { hint: `Use one of: ${SSL_MODES.join(', ')}` });
  }
  if (mode === 'disable') {
    if (isLocal(host)) return false;
    throw new UsageError('The connection to the database of the state must be encrypted.', {
      hint: 'Leave out sslmode=disable, or use sslmode=require if the certificate of the server cannot be verified.',
    });
  }
  const servername = isIP(host) === 0 ? { servername: host } : {};
  return { rejectUnauthorized: mode === 'verify-full', ...servername, ...(ca !== undefined && { ca }) };
}

/** Splits a line `host:port:database:user:password`. A backslash escapes a colon. */
function fieldsOf(line: string): readonly string[] {
  return [...line.matchAll(/((?:\\.|[^:\\])*)(?::|$)/g)].map(([, field = '']) => field.replace(/\\(.)/g, '$1'));
}

/** Finds the password in the text of a PGPASSFILE. */
function passwordIn(text: string, { host, port, database, user }: Login): string | undefined {
  const expected = [host.startsWith('/') ? 'localhost' : host, String(port), database, user];
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('#')) continue;
    const fields = fieldsOf(line);
    const [password] = fields.slice(expected.length);
    if (password !== undefined && expected.every((value, index) => fields[index] === '*' || fields[index] === value))
      return password;
  }
  return undefined;
}

/** Returns the password in PGPASSFILE or ~/.pgpass, as psql does. @throws LocalError if the file cannot be used */
async function findPassword(target: Login, env: Environment): Promise<string | undefined> {
  const path = env.PGPASSFILE || join(env.HOME || homedir(), '.pgpass');
  const status = await stat(path).catch(() => undefined);
  if (!status) {
    if (!env.PGPASSFILE) return undefined;
    throw new LocalError(`PGPASSFILE names a file that cannot be read: ${path}`, {
      hint: 'Correct PGPASSFILE, or unset it.',
    });
  }
  if (process.platform !== 'win32' && (status.mode & 0o077) !== 0) {
    throw new LocalError(`Other users can read the passwords in ${path}.`, { hint: `Run: chmod 600 ${path}` });
  }
  return passwordIn(await readFile(path, 'utf8'), target);
}

async function readCertificates(path: string | null): Promise<string | undefined> {
  if (path === null || path === 'system') return undefined;
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new LocalError(`The certificates of the database cannot be read: ${path}`, {
      why: describeFileError(error),
      hint: 'Correct sslrootcert in the address of the state.',
      cause: error,
    });
  }
}

/** What a target is made of. */
interface TargetDeps {
  readonly location: StateLocation;
  readonly env: Environment;
  readonly addSecret: (text: string) => void;
  /** Reads the password of the database from the profile. */
  readonly readPassword?: (() => Promise<string | undefined>) | undefined;
}

/**
 * Reads `postgres://user@host:5432/database?table=…&sslmode=…&sslrootcert=…&host=/socket/directory`.
 * @throws UsageError if it names no user or no database, or has unknown parameters; LocalError if a file that it names cannot
 *   be read
 */
export async function postgresTarget({ location, env, addSecret, readPassword }: TargetDeps): Promise<PostgresTarget> {
  const { address } = location;
  const url = new URL(address);
  const known = new Set(['table', 'sslmode', 'sslrootcert', 'host']);
  const unknown = [...url.searchParams.keys()].find((name) => !known.has(name));
  if (unknown !== undefined) {
    throw new UsageError(`The address of the state has the unknown parameter ${JSON.stringify(unknown)}.`, {
      hint: `Known: ${[...known].join(', ')}`,
    });
  }
  const host =
    url.searchParams.get('host') ?? (decodeURIComponent(url.hostname).replace(/^\[|\]$/g, '') || 'localhost');
  // The library splits a host at its colons.
  if (isIP(host) === 6) {
    throw new UsageError('The address of the state has an IPv6 address.', { hint: 'Write the name of the host.' });
  }
  const user = decodeURIComponent(url.username);
  const database = decodeURIComponent(url.pathname.slice(1));
  if (user === '' || database === '') {
    throw new UsageError(`The address of the state names no ${user === '' ? 'user' : 'database'}: ${address}`, {
      hint: 'For example: postgres://user@host/database',
    });
  }
  const table = quoteTable(url.searchParams.get('table') ?? DEFAULT_TABLE);
  const port = url.port === '' ? 5432 : Number(url.port);
  const ssl = sslOf(url, host, await readCertificates(url.searchParams.get('sslrootcert')));
  const login = { host, port, database, user };
  const given = location.password ?? (env.PGPASSWORD || undefined) ?? (await readPassword?.());
  const password = given ?? (await findPassword(login, env));
  if (password !== undefined) addSecret(password);
  return { label: address, table, user, connection: { ...login, ...(password !== undefined && { password }), ssl } };
}
