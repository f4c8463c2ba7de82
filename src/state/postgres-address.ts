import { UsageError } from '../errors.ts';
import type { Environment } from '../platform/io.ts';
import type { StateLocation } from './location.ts';

/** A table of a PostgreSQL database, and how to reach it. */
export interface PostgresTarget {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password?: string;
  readonly ssl: false | 'require' | 'verify-full';
  /** The address without a password. */
  readonly label: string;
  /** The quoted name of the table. */
  readonly table: string;
}

/** The parameters of an address, each with its default. */
const PARAMETERS = { table: 'partnerctl_state', sslmode: '', host: '' };

/** Quotes `state` or `schema.state`. @throws UsageError if it is not a valid name */
function quoteTable(name: string): string {
  if (/^[a-z_]\w{0,62}(\.[a-z_]\w{0,62})?$/i.test(name)) return name.replaceAll(/\w+/g, '"$&"');
  throw new UsageError(`${JSON.stringify(name)} is not the name of a table.`, {
    hint: 'Use ?table=<table> or ?table=<schema>.<table>, with letters, digits, and underscores.',
  });
}

/** Encrypted and verified, unless the server is this machine. */
function sslOf(sslmode: string, host: string): PostgresTarget['ssl'] {
  const isLocal = host.startsWith('/') || host === 'localhost' || /^127[.\d]+$/.test(host);
  const mode = sslmode || (isLocal ? 'disable' : 'verify-full');
  if (mode === 'disable' && isLocal) return false;
  if (mode === 'require' || mode === 'verify-full') return mode;
  throw new UsageError('The connection to the database of the state must be encrypted.', {
    hint: 'Leave out sslmode, or use sslmode=require if the certificate of the server cannot be verified.',
  });
}

export interface TargetDeps {
  readonly location: StateLocation;
  readonly env: Environment;
  readonly addSecret: (text: string) => void;
}

/**
 * Reads `postgres://user@host:5432/database?table=…&sslmode=…&host=/socket/directory`.
 * @throws UsageError if it names no user or no database, or has unknown parameters
 */
export function postgresTarget({ location, env, addSecret }: TargetDeps): PostgresTarget {
  const { address: label } = location;
  const url = new URL(label);
  const unknown = [...url.searchParams.keys()].find((name) => !(name in PARAMETERS));
  if (unknown !== undefined) {
    throw new UsageError(`The address of the state has the unknown parameter ${JSON.stringify(unknown)}.`, {
      hint: `Known: ${Object.keys(PARAMETERS).join(', ')}`,
    });
  }
  const { table, sslmode, host: socket } = { ...PARAMETERS, ...Object.fromEntries(url.searchParams) };
  const host = socket || decodeURIComponent(url.hostname) || 'localhost';
  const [user, database] = [decodeURIComponent(url.username), decodeURIComponent(url.pathname.slice(1))];
  if (user === '' || database === '') {
    throw new UsageError(`The address of the state names no user, or no database: ${label}`, {
      hint: 'For example: postgres://user@host/database',
    });
  }
  const password = location.password ?? env.PGPASSWORD;
  if (password) addSecret(password);
  const target = { host, port: Number(url.port || 5432), database, user, ssl: sslOf(sslmode, host) };
  return { ...target, ...(password && { password }), label, table: quoteTable(table) };
}
