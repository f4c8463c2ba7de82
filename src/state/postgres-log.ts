import postgres from 'postgres';
import { LocalError, StateUnavailableError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { errorCode } from '../platform/error-code.ts';
import type { LogDriver } from './log.ts';
import type { PostgresTarget } from './postgres-address.ts';

/*
 * One row per record. The position of a row is one more than the highest that its statement sees: if two statements choose the
 * same one, the primary key lets only one of them commit, and the other is repeated. So a row commits only after all rows before
 * it, and no reader sees a row before an earlier one. Each statement is its own transaction and uses no session state, which
 * also works behind a transaction pooler.
 */

export interface PostgresDeps {
  readonly target: PostgresTarget;
  readonly clock: Clock;
  readonly random: () => number;
  /** Ends every wait. */
  readonly signal: AbortSignal;
  readonly limits?: PostgresLimits;
}

/** In milliseconds. */
interface PostgresLimits {
  /** How long a statement may take. */
  readonly statement: number;
  /** How long to repeat statements. */
  readonly persistence: number;
}

const LIMITS: PostgresLimits = { statement: 15_000, persistence: 15_000 };
/** Rows a statement, so that each ends in time over a slow line. */
const PAGE = 2_000;

/** Another statement used the same position, or the transaction must be repeated. */
const CONFLICT = /^(23505|40001|40P01)$/;

/** Lost connections, servers that are full or shut down, statement timeouts, locks. */
const TRANSIENT = /^(08|53|57|55P03|25P03)/;

/** Failures that another attempt would repeat: an unknown host, an invalid certificate, a server without TLS. */
const PERMANENT = /^(ENOTFOUND|ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;

/** What to do about a failed statement: repeat it at once, repeat it on another connection, or give up. */
function kindOfFailure(error: unknown): 'conflict' | 'transient' | 'permanent' {
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
function unavailable(error: unknown, target: PostgresTarget): StateUnavailableError {
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

type Row = Readonly<Record<string, unknown>>;

/** Runs statements, which must be safe to repeat: one whose result is lost may be completed all the same. */
class Database {
  private readonly deps: PostgresDeps;
  private sql: postgres.Sql | undefined;

  constructor(deps: PostgresDeps) {
    this.deps = deps;
  }

  /** @throws StateUnavailableError; the reason of the signal */
  async run(text: string, parameters: readonly (string | number | readonly string[])[] = []): Promise<readonly Row[]> {
    const { clock, random, signal, target, limits = LIMITS } = this.deps;
    const start = clock.monotonic();
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.attempt(text, parameters, limits.statement);
      } catch (error) {
        signal.throwIfAborted();
        const kind = kindOfFailure(error);
        if (kind !== 'conflict') await this.close();
        if (kind === 'permanent' || clock.monotonic() - start > limits.persistence) throw unavailable(error, target);
        const longest = (kind === 'conflict' ? 5 : 100) * 2 ** Math.min(attempt, 5);
        await clock.sleep(longest * random(), signal);
      }
    }
  }

  async close(): Promise<void> {
    const { sql } = this;
    this.sql = undefined;
    await sql?.end({ timeout: 0 });
  }

  private async attempt(
    text: string,
    parameters: Parameters<Database['run']>[1],
    limitMs: number,
  ): Promise<readonly Row[]> {
    const { clock, signal } = this.deps;
    this.sql ??= this.connect();
    const done = new AbortController();
    const query = this.sql.unsafe<Row[]>(
      text,
      parameters?.map((each) => (Array.isArray(each) ? [...each] : each)),
    );
    const limit = clock.sleep(limitMs, AbortSignal.any([signal, done.signal])).then(() => {
      throw new Error(`The server did not answer within ${limitMs / 1000}s.`);
    });
    try {
      return await Promise.race([query, limit]);
    } finally {
      done.abort();
      for (const loser of [query, limit]) loser.catch(() => undefined);
    }
  }

  private connect(): postgres.Sql {
    const { host, port, ssl, ...login } = this.deps.target.connection;
    return postgres({
      ...login,
      host,
      port,
      ...(host.startsWith('/') && { path: `${host}/.s.PGSQL.${port}` }),
      ssl,
      max: 1,
      connect_timeout: 10,
      prepare: false,
      fetch_types: false,
      onnotice: () => undefined,
      connection: { application_name: 'partnerctl' },
    });
  }
}

/**
 * Appends lines in one statement; a repeat may add them twice. Turns on synchronous_commit if it is off, so that an
 * acknowledged commit is on disk.
 */
function insertStatement(table: string): string {
  return `insert into ${table} (position, line)
    select last.position + new.number, new.line
    from (select coalesce(max(position), 0) as position from ${table}) as last,
      json_array_elements_text($1::json) with ordinality as new(line, number)
    where case current_setting('synchronous_commit')
      when 'off' then set_config('synchronous_commit', 'on', true) else '' end is not null`;
}

/** The log in a table of PostgreSQL 13 or newer. Connects with the first read or write. */
export function postgresLog(deps: PostgresDeps): LogDriver {
  const { table, label } = deps.target;
  const database = new Database(deps);
  /** Whether the table is known to be a log: without unique positions, two writers could each believe that they are first. */
  let isChecked = false;

  async function readPage(after: string): Promise<readonly { readonly position: string; readonly line: string }[]> {
    const page = `select position::text, line from ${table} where position > $1::bigint order by position limit ${PAGE}`;
    const rows = await database.run(page, [after]);
    return rows.map(({ position, line }) => {
      if (typeof position === 'string' && typeof line === 'string') return { position, line };
      throw new LocalError(`The table of the state has other columns than expected: ${label}`, {
        why: `${table} needs the columns position (bigint) and line (text).`,
        hint: 'Name another table in the address: ?table=<name>',
      });
    });
  }

  async function insert(lines: readonly string[]): Promise<void> {
    await database.run(insertStatement(table), [lines]);
  }

  async function createTable(): Promise<string> {
    const [encoding] = await database.run("select current_setting('server_encoding') as name");
    // SQL_ASCII stores bytes unchanged.
    if (encoding?.name !== 'UTF8' && encoding?.name !== 'SQL_ASCII') {
      throw new LocalError(`The database cannot hold all names: ${label}`, {
        why: `Its encoding is ${String(encoding?.name)}.`,
        hint: "Use a database that was created with ENCODING 'UTF8'.",
      });
    }
    // `if not exists` needs the permission to create even if the table exists.
    const [found] = await database.run('select to_regclass($1)::text as name', [table]);
    if (found?.name === null) {
      await database.run(`create table if not exists ${table} (position bigint primary key, line text not null)`);
    }
    const [schema] = table.includes('.') ? table.split('.') : [];
    const usage = schema === undefined ? '' : `GRANT USAGE ON SCHEMA ${schema} TO <user>; `;
    return `${usage}GRANT SELECT, INSERT ON ${table} TO <user>;`;
  }

  // Inserts nothing, but fails without the table, its columns, its unique positions, or the permission.
  async function check(): Promise<void> {
    await database.run(`${insertStatement(table)} on conflict (position) do nothing`, [[]]);
    isChecked = true;
  }

  return {
    label,
    async load() {
      const lines: string[] = [];
      for (let after = '0'; ; ) {
        const rows = await readPage(after);
        for (const { line } of rows) lines.push(line);
        const last = rows.at(-1);
        if (!last || rows.length < PAGE) return lines;
        after = last.position;
      }
    },
    async write(lines) {
      if (!isChecked) await check();
      for (let start = 0; start < lines.length; start += PAGE) await insert(lines.slice(start, start + PAGE));
    },
    async prepare() {
      const grants = await createTable();
      await check();
      return grants;
    },
    check,
    close: () => database.close(),
  };
}
