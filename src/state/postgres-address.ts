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
export interface PostgresTarget extends Login {
  /** The address without a password. */
  readonly label: string;
  /** The quoted name of the table. */
  readonly table: string;
  readonly password: string | undefined;
  readonly ssl: false | { readonly rejectUnauthorized: boolean; readonly servername?: string; readonly ca?: string };
}

/** The parameters of an address, each with its default. */
const PARAMETERS = { table: 'partnerctl_state', sslmode: '', sslrootcert: '', host: '' };

/** Quotes `state` or `schema.state`. @throws UsageError if it is not a valid name */
function quoteTable(name: string): string {
  const parts = name.split('.');
  if (parts.length <= 2 && parts.every((part) => /^[A-Za-z_][A-Za-z0-9_$]{0,62}$/.test(part))) {
    return parts.map((part) => `"${part}"`).join('.');
  }
  throw new UsageError(`${JSON.stringify(name)} is not the name of a table.`, {
    hint: 'Use ?table=<table> or ?table=<schema>.<table>, with letters, digits, and underscores.',
  });
}

async function readSsl({ sslmode, sslrootcert }: typeof PARAMETERS, host: string): Promise<PostgresTarget['ssl']> {
  const isLocal = host.startsWith('/') || host === 'localhost' || /^127[.\d]+$/.test(host);
  const mode = sslmode || (isLocal ? 'disable' : 'verify-full');
  if (mode === 'disable' && isLocal) return false;
  if (mode !== 'require' && mode !== 'verify-full') {
    throw new UsageError('The connection to the database of the state must be encrypted.', {
      hint: 'Leave out sslmode, or use sslmode=require if the certificate of the server cannot be verified.',
    });
  }
  const servername = isIP(host) === 0 ? { servername: host } : {};
  const ssl = { rejectUnauthorized: mode === 'verify-full', ...servername };
  if (sslrootcert === '' || sslrootcert === 'system') return ssl;
  try {
    return { ...ssl, ca: await readFile(sslrootcert, 'utf8') };
  } catch (error) {
    throw new LocalError(`The certificates of the database cannot be read: ${sslrootcert}`, {
      why: describeFileError(error),
      hint: 'Correct sslrootcert in the address of the state.',
      cause: error,
    });
  }
}

/** Finds a password in the text of a PGPASSFILE: lines `host:port:database:user:password`, where a backslash escapes a colon. */
function passwordIn(text: string, { host, port, database, user }: Login): string | undefined {
  const expected = [host.startsWith('/') ? 'localhost' : host, String(port), database, user];
  const lines = text.split(/\r?\n/).filter((line) => !line.startsWith('#'));
  const all = lines.map((line) =>
    [...line.matchAll(/((?:\\.|[^:\\])*)(?::|$)/g)].map(([, field = '']) => field.replace(/\\(.)/g, '$1')),
  );
  const matches = (fields: readonly string[]): boolean =>
    fields.length > expected.length && expected.every((value, index) => ['*', value].includes(fields[index] ?? ''));
  return all.find(matches)?.[expected.length];
}

/** Returns the password in PGPASSFILE or ~/.pgpass, as psql does. @throws LocalError if the file cannot be used */
async function findPassword(login: Login, env: Environment): Promise<string | undefined> {
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
  return passwordIn(await readFile(path, 'utf8'), login);
}

export interface TargetDeps {
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
  const url = new URL(location.address);
  const unknown = [...url.searchParams.keys()].find((name) => !(name in PARAMETERS));
  if (unknown !== undefined) {
    throw new UsageError(`The address of the state has the unknown parameter ${JSON.stringify(unknown)}.`, {
      hint: `Known: ${Object.keys(PARAMETERS).join(', ')}`,
    });
  }
  const parameters = { ...PARAMETERS, ...Object.fromEntries(url.searchParams) };
  const host = parameters.host || decodeURIComponent(url.hostname) || 'localhost';
  // The library splits a host at its colons.
  if (host.includes(':')) {
    throw new UsageError('The address of the state has an IPv6 address.', { hint: 'Write the name of the host.' });
  }
  const user = decodeURIComponent(url.username);
  const database = decodeURIComponent(url.pathname.slice(1));
  if (user === '' || database === '') {
    throw new UsageError(
      `The address of the state names no ${user === '' ? 'user' : 'database'}: ${location.address}`,
      {
        hint: 'For example: postgres://user@host/database',
      },
    );
  }
  const login = { host, port: Number(url.port || 5432), database, user };
  const ssl = await readSsl(parameters, host);
  const given = location.password ?? (env.PGPASSWORD || undefined) ?? (await readPassword?.());
  const password = given ?? (await findPassword(login, env));
  if (password !== undefined) addSecret(password);
  return { ...login, label: location.address, table: quoteTable(parameters.table), password, ssl };
}
