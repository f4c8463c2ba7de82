import { isIP } from 'node:net';
import { UsageError } from '../errors.ts';

/** A table of a PostgreSQL database. */
export interface PostgresTarget {
  /** The address without a password. */
  readonly label: string;
  /** The quoted name of the table. */
  readonly table: string;
  readonly user: string;
  readonly connection: {
    readonly host: string;
    readonly port: number;
    readonly database: string;
    readonly user: string;
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

export interface AddressExtras {
  readonly password: string | undefined;
  /** The certificates of `sslrootcert`. */
  readonly ca: string | undefined;
}

/**
 * Reads `postgres://user@host:5432/database?table=…&sslmode=…&sslrootcert=…&host=/socket/directory`.
 * @param address without a password
 * @throws UsageError if it names no user or no database, or has unknown parameters
 */
export function postgresTarget(address: string, { password, ca }: AddressExtras): PostgresTarget {
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
  return {
    label: address,
    table: quoteTable(url.searchParams.get('table') ?? DEFAULT_TABLE),
    user,
    connection: {
      host,
      port: url.port === '' ? 5432 : Number(url.port),
      database,
      user,
      ...(password !== undefined && { password }),
      ssl: sslOf(url, host, ca),
    },
  };
}
