import postgres from 'postgres';
import { errorCode, StateUnavailableError } from '../errors.ts';
import type { PostgresTarget } from './postgres-address.ts';

/** Another statement used the same position, or the transaction must be repeated. */
const CONFLICT = /^(23505|40001|40P01)$/;

/** Lost connections, servers that are full or shut down, statement timeouts, locks. */
const TRANSIENT = /^(08|53|57|55P03|25P03)/;

/** Failures that a repeat does not mend: an unknown host, an invalid certificate, a server without TLS. */
const PERMANENT = /^(ENOTFOUND|ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;

/** What to do about a failed statement: repeat it at once, repeat it on another connection, or give up. */
export function kindOfFailure(error: unknown): 'conflict' | 'transient' | 'permanent' {
  const code = String(errorCode(error) ?? '');
  if (CONFLICT.test(code)) return 'conflict';
  if (error instanceof postgres.PostgresError) return TRANSIENT.test(code) ? 'transient' : 'permanent';
  return PERMANENT.test(code) ? 'permanent' : 'transient';
}

/** @param code the SQLSTATE */
function refusalHint(code: string, message: string, { table, user, label }: PostgresTarget): string {
  if (code === '42P01' || code === '3F000') return `Create the table: partnerctl state init '${label}'`;
  if (code === '42501') return `Let the owner of the database run: GRANT SELECT, INSERT ON ${table} TO "${user}";`;
  if (code === '25006') return 'The address leads to a standby, or to a database that is read-only: name the primary.';
  if (code === '22P05' || code === '22021') return "Use a database that was created with ENCODING 'UTF8'.";
  if (/no encryption|SSL off/.test(message)) return 'Add ?sslmode=require to the address, or sslmode=verify-full.';
  if (code.startsWith('28'))
    return 'Check the user and the password: PGPASSWORD, PGPASSFILE, PARTNER_STATE, or the state_password_command of the profile.';
  if (code.startsWith('42') || code.startsWith('23'))
    return 'Name another table in the address: ?table=<name>. Its owner creates it: partnerctl state init';
  return 'Check the address: partnerctl state path';
}

function connectionHint(code: string, message: string): string {
  if (message.includes('secure TLS connection')) {
    return 'Does the server offer TLS? It must, unless the host is this machine. Check the address: partnerctl state path';
  }
  if (code === 'ENOTFOUND') return 'Check the host in the address: partnerctl state path';
  if (PERMANENT.test(code)) {
    return "Name the certificate of the server's authority: ?sslrootcert=<path>. Or encrypt without verifying: ?sslmode=require";
  }
  return 'Nothing more is sent to the service while the state cannot be read and written. Run the command again when the database is back.';
}

/** Returns the error to report when a statement is not repeated any more. */
export function unavailable(error: unknown, target: PostgresTarget): StateUnavailableError {
  const code = String(errorCode(error) ?? '');
  // A failure to connect to several addresses has no message of its own.
  const [first] = error instanceof AggregateError ? error.errors : [error];
  const message = first instanceof Error ? first.message : String(first);
  const why = code === '' || message.includes(code) ? message : `${message} (${code})`;
  const isRefusal = error instanceof postgres.PostgresError && kindOfFailure(error) !== 'transient';
  return new StateUnavailableError(
    `The database of the state ${isRefusal ? 'refused a query' : 'cannot be reached'}: ${target.label}`,
    { why, hint: isRefusal ? refusalHint(code, message, target) : connectionHint(code, message), cause: error },
  );
}
