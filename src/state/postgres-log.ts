import postgres from 'postgres';
import { LocalError, StateUnavailableError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { errorCode, errorMessage } from '../platform/error-code.ts';
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
}

/** How long a statement may take, and how long it is repeated. */
const [STATEMENT_MS, PERSISTENCE_MS] = [15_000, 15_000];
/** Rows a statement, so that each ends in time over a slow line. */
const PAGE = 2_000;

/** Another statement used the same position, or the transaction must be repeated. */
const CONFLICT = /^(23505|40001|40P01)$/;
/** Lost connections, servers that are full or shut down, statement timeouts, locks. */
const TRANSIENT = /^(08|53|57|55P03|25P03)/;
/** Failures that another attempt would repeat: an unknown host, an invalid certificate, a server without TLS. */
const PERMANENT = /^(ENOTFOUND|ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;

function isPermanent(error: unknown, code: string): boolean {
  return error instanceof postgres.PostgresError ? !TRANSIENT.test(code) : PERMANENT.test(code);
}

/** What to do about an error of the server, by its SQLSTATE and message; the first that matches. */
const REFUSALS: readonly (readonly [RegExp, string])[] = [
  [/^(42P01|3F000)/, "Create the table: partnerctl state init '<address>'"],
  [/^42501/, 'Let the owner of the database run: GRANT SELECT, INSERT ON <table> TO "<user>";'],
  [/^25006/, 'The address leads to a standby, or to a database that is read-only: name the primary.'],
  [/^(22P05|22021)/, "Use a database that was created with ENCODING 'UTF8'."],
  [/no encryption|SSL off/, 'Add ?sslmode=require to the address, or sslmode=verify-full.'],
  [
    /^28/,
    'Check the user and the password: PGPASSWORD, PGPASSFILE, PARTNER_STATE, or the state_password_command of the profile.',
  ],
  [/^(42|23)/, 'Name another table in the address: ?table=<name>. Its owner creates it: partnerctl state init'],
  [/./, 'Check the address: partnerctl state path'],
];

/** What to do about a failed connection, by its code and message; the first that matches. */
const FAILURES: readonly (readonly [RegExp, string])[] = [
  [
    /secure TLS connection/,
    'Does the server offer TLS? It must, unless the host is this machine. Check the address: partnerctl state path',
  ],
  [/^ENOTFOUND/, 'Check the host in the address: partnerctl state path'],
  [
    PERMANENT,
    "Name the certificate of the server's authority: ?sslrootcert=<path>. Or encrypt without verifying: ?sslmode=require",
  ],
  [
    /^/,
    'Nothing more is sent to the service while the state cannot be read and written. Run the command again when the database is back.',
  ],
];

/** Returns the error to report when a statement is not repeated any more. */
function unavailable(error: unknown, { table, user, label }: PostgresTarget): StateUnavailableError {
  const code = String(errorCode(error) ?? '');
  // A failure to connect to several addresses has no message of its own.
  const [first] = error instanceof AggregateError ? error.errors : [error];
  const message = errorMessage(first);
  const isRefusal = error instanceof postgres.PostgresError && !TRANSIENT.test(code);
  const [, advice = ''] = (isRefusal ? REFUSALS : FAILURES).find(([what]) => what.test(`${code} ${message}`)) ?? [];
  const hint = advice.replace('<address>', label).replace('<table>', table).replace('<user>', user);
  return new StateUnavailableError(
    `The database of the state ${isRefusal ? 'refused a query' : 'cannot be reached'}: ${label}`,
    { why: code === '' || message.includes(code) ? message : `${message} (${code})`, hint, cause: error },
  );
}

type Row = Readonly<Record<string, unknown>>;

class PostgresLog implements LogDriver {
  readonly label: string;
  private readonly deps: PostgresDeps;
  private readonly table: string;
  private sql: postgres.Sql | undefined;
  /** Whether the table is known to be a log: without unique positions, two writers could each believe that they are first. */
  private isChecked = false;

  constructor(deps: PostgresDeps) {
    this.deps = deps;
    this.label = deps.target.label;
    this.table = deps.target.table;
  }

  async load(): Promise<readonly string[]> {
    const page = `select position::text, line from ${this.table} where position > $1::bigint order by position limit ${PAGE}`;
    const lines: string[] = [];
    for (let after: unknown = '0'; ; ) {
      const rows = await this.run(page, [String(after)]);
      for (const { line } of rows) lines.push(String(line));
      if (rows.length < PAGE) return lines;
      after = rows.at(-1)?.position;
    }
  }

  async write(lines: readonly string[]): Promise<void> {
    if (!this.isChecked) await this.check();
    for (let start = 0; start < lines.length; start += PAGE) {
      await this.run(this.insertion(), [lines.slice(start, start + PAGE)]);
    }
  }

  async prepare(): Promise<string> {
    const [encoding] = await this.run("select current_setting('server_encoding') as name");
    // SQL_ASCII stores bytes unchanged.
    if (encoding?.name !== 'UTF8' && encoding?.name !== 'SQL_ASCII') {
      throw new LocalError(`The database cannot hold all names: ${this.label}`, {
        why: `Its encoding is ${String(encoding?.name)}.`,
        hint: "Use a database that was created with ENCODING 'UTF8'.",
      });
    }
    // `if not exists` needs the permission to create even if the table exists.
    const [found] = await this.run('select to_regclass($1)::text as name', [this.table]);
    if (found?.name === null) {
      await this.run(`create table if not exists ${this.table} (position bigint primary key, line text not null)`);
    }
    await this.check();
    const [schema] = this.table.includes('.') ? this.table.split('.') : [];
    const usage = schema === undefined ? '' : `GRANT USAGE ON SCHEMA ${schema} TO <user>; `;
    return `${usage}GRANT SELECT, INSERT ON ${this.table} TO <user>;`;
  }

  /** Inserts nothing, but fails without the table, its columns, its unique positions, or the permission. */
  async check(): Promise<void> {
    await this.run(`${this.insertion()} on conflict (position) do nothing`, [[]]);
    this.isChecked = true;
  }

  async close(): Promise<void> {
    const { sql } = this;
    this.sql = undefined;
    await sql?.end({ timeout: 0 });
  }

  /** Turns on synchronous_commit if it is off, so that an acknowledged commit is on disk. */
  private insertion(): string {
    return `insert into ${this.table} (position, line)
      select last.position + new.number, new.line
      from (select coalesce(max(position), 0) as position from ${this.table}) as last,
        json_array_elements_text($1::json) with ordinality as new(line, number)
      where case current_setting('synchronous_commit')
        when 'off' then set_config('synchronous_commit', 'on', true) else '' end is not null`;
  }

  /**
   * Runs a statement, and repeats it while it may succeed: one whose result is lost may be completed all the same. A repeated
   * insertion may add its lines twice, which is harmless.
   * @throws StateUnavailableError; the reason of the signal
   */
  private async run(text: string, parameters: readonly (string | readonly string[])[] = []): Promise<readonly Row[]> {
    const { clock, random, signal, target } = this.deps;
    const start = clock.monotonic();
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.attempt(text, parameters);
      } catch (error) {
        signal.throwIfAborted();
        const code = String(errorCode(error) ?? '');
        const isConflict = CONFLICT.test(code);
        if (!isConflict) await this.close();
        const isLate = clock.monotonic() - start > PERSISTENCE_MS;
        if (isLate || (!isConflict && isPermanent(error, code))) throw unavailable(error, target);
        const longest = (isConflict ? 5 : 100) * 2 ** Math.min(attempt, 5);
        await clock.sleep(longest * random(), signal);
      }
    }
  }

  private async attempt(text: string, parameters: readonly (string | readonly string[])[]): Promise<readonly Row[]> {
    const { clock, signal } = this.deps;
    this.sql ??= this.connect();
    const done = new AbortController();
    const query = this.sql.unsafe<Row[]>(
      text,
      parameters.map((each) => (typeof each === 'string' ? each : [...each])),
    );
    const limit = clock.sleep(STATEMENT_MS, AbortSignal.any([signal, done.signal])).then(() => {
      throw new Error(`The server did not answer within ${STATEMENT_MS / 1000}s.`);
    });
    try {
      return await Promise.race([query, limit]);
    } finally {
      done.abort();
      for (const loser of [query, limit]) loser.catch(() => undefined);
    }
  }

  private connect(): postgres.Sql {
    const { host, port, database, user, password, ssl } = this.deps.target;
    return postgres({
      ...{ host, port, database, user, ssl },
      ...(password !== undefined && { password }),
      ...(host.startsWith('/') && { path: `${host}/.s.PGSQL.${port}` }),
      max: 1,
      connect_timeout: 10,
      prepare: false,
      fetch_types: false,
      onnotice: () => undefined,
      connection: { application_name: 'partnerctl' },
    });
  }
}

/** The log in a table of PostgreSQL 13 or newer. Connects with the first read or write. */
export function postgresLog(deps: PostgresDeps): LogDriver {
  return new PostgresLog(deps);
}
