import postgres from 'postgres';
import { StateUnavailableError } from '../errors.ts';
import type { PostgresTarget } from '../state/postgres-address.ts';
import { NoTlsError } from './postgres-socket.ts';

/** Another statement used the same position, or the transaction must be repeated. */
const CONFLICT_CODES: ReadonlySet<string> = new Set(['23505', '40001', '40P01']);

/** Lost connections, servers that are full or shut down, statement timeouts, locks. */
const TRANSIENT_CODES = /^(08|53|57|55P03|25P03)/;

/** Failures that a retry does not fix: an unknown host, an invalid certificate. */
const PERMANENT_CODES = /^(ENOTFOUND|ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;

/**
 * What to do about a failed statement. `conflict`: repeat it, on the same connection. `transient`: repeat it on another
 * connection. `permanent`: give up.
 */
type FailureKind = 'conflict' | 'transient' | 'permanent';

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** Classifies an error of a statement or a connection. */
export function kindOfFailure(error: unknown): FailureKind {
  const code = codeOf(error);
  if (CONFLICT_CODES.has(code)) return 'conflict';
  if (error instanceof postgres.PostgresError) return TRANSIENT_CODES.test(code) ? 'transient' : 'permanent';
  return error instanceof NoTlsError || PERMANENT_CODES.test(code) ? 'permanent' : 'transient';
}

const OTHER_TABLE = 'Name another table in the address: ?table=<name>. Its owner creates it: partnerctl state init';

/** @param code the SQLSTATE */
function refusalHint(code: string, message: string, { table, user, label }: PostgresTarget): string {
  if (code === '42P01' || code === '3F000') return `Create the table: partnerctl state init '${label}'`;
  if (code === '42501') return `Let the owner of the database run: GRANT SELECT, INSERT ON ${table} TO "${user}";`;
  if (code === '25006') return 'The address leads to a standby, or to a database that is read-only: name the primary.';
  if (code === '22P05' || code === '22021') return "Use a database that was created with ENCODING 'UTF8'.";
  if (/no encryption|SSL off/.test(message)) return 'Add ?sslmode=require to the address, or sslmode=verify-full.';
  if (code.startsWith('28'))
    return 'Check the user and the password: PGPASSWORD, PGPASSFILE, PARTNER_STATE, or the state_password_command of the profile.';
  if (code.startsWith('3D')) return 'Check the database in the address: partnerctl state path';
  if (code.startsWith('42') || code.startsWith('23')) return OTHER_TABLE;
  return 'Check the address: partnerctl state path';
}

function connectionHint(error: unknown, code: string): string {
  if (error instanceof NoTlsError) {
    return 'Turn on ssl at the server: the state is only sent over encrypted connections, except on this machine.';
  }
  if (code === 'ENOTFOUND') return 'Check the host in the address: partnerctl state path';
  if (PERMANENT_CODES.test(code)) {
    return "Name the certificate of the server's authority: ?sslrootcert=<path>. Or encrypt without verifying: ?sslmode=require";
  }
  return 'Nothing more is sent to the service while the state cannot be read and written. Run the command again when the database is back.';
}

/** Returns the error to report after the last retry. Returns an abort reason that is not an Error unchanged. */
export function unavailableError(error: unknown, target: PostgresTarget): unknown {
  if (!(error instanceof Error)) return error;
  const code = codeOf(error);
  // A failure to connect to several addresses has no message of its own.
  const message = error.message || (error instanceof AggregateError ? String(error.errors[0]) : code);
  const why = code === '' || message.includes(code) ? message : `${message} (${code})`;
  if (error instanceof postgres.PostgresError && kindOfFailure(error) !== 'transient') {
    return new StateUnavailableError(`The database of the state refused a query: ${target.label}`, {
      why,
      hint: refusalHint(code, message, target),
      cause: error,
    });
  }
  return new StateUnavailableError(`The database of the state cannot be reached: ${target.label}`, {
    why,
    hint: connectionHint(error, code),
    cause: error,
  });
}
