import { once } from 'node:events';
import postgres from 'postgres';
import { StateUnavailableError, UsageError } from '../errors.ts';
import { withTimeLimit } from '../platform/clock.ts';
import { errorCode, errorMessage } from '../platform/error-code.ts';
import { persist } from './backoff.ts';
import type { LoadedLines, LogDriver, StoreDeps } from './log.ts';

/*
 * One row per record. The position of a row is one more than the highest that its statement sees: if two statements
 * choose the same one, the primary key lets only one of them commit, and the other is repeated. So a row commits only
 * after all rows before it, and no reader sees a row before an earlier one. Each statement is its own transaction and
 * uses no session state, which also works behind a transaction pooler.
 */

/** How long a statement may take. */
const STATEMENT_MS = 30_000;

/** Another statement used the same position, or the server is busy, full, or shut down. */
const REPEATABLE = /^(23505|40001|40P01|08|53|57|55P03|25P03)/;

/** One connection, without session state. */
const CONNECTION = { max: 1, connect_timeout: 10, prepare: false, fetch_types: false, onnotice: () => undefined };

/** Encrypted and verified, unless the server is this machine. @throws UsageError */
function sslOf(sslmode: string | undefined, host: string): false | 'require' | 'verify-full' {
  if (sslmode === 'require' || sslmode === 'verify-full') return sslmode;
  const isLocal = /^(\/|localhost$|127[.\d]+$)/.test(host);
  if (sslmode === undefined || (sslmode === 'disable' && isLocal)) return isLocal ? false : 'verify-full';
  throw new UsageError('The connection to the database of the state must be encrypted.', {
    hint: 'Leave out sslmode, or use sslmode=require if the certificate of the server cannot be verified.',
  });
}

/**
 * Reads `postgres://user@host:5432/database?table=…&sslmode=…&host=/socket/directory`. What is missing is as for psql,
 * and the server refuses parameters that it does not know.
 * @throws UsageError for an sslmode that is not encrypted
 */
function readAddress({ location, env, redactor }: StoreDeps) {
  const url = new URL(location.address);
  const { table = 'partnerctl_state', sslmode, host: socket, ...settings } = Object.fromEntries(url.searchParams);
  const host = socket || decodeURIComponent(url.hostname) || 'localhost';
  const password = location.password ?? env.PGPASSWORD ?? '';
  if (password) redactor.add(password);
  const server = {
    host,
    port: Number(url.port || 5432),
    user: decodeURIComponent(url.username),
    password,
    database: decodeURIComponent(url.pathname.slice(1)),
    ssl: sslOf(sslmode, host),
    connection: { application_name: 'partnerctl', ...settings },
  };
  const quoted = table.split('.').map((name) => `"${name.replaceAll('"', '""')}"`);
  return { server, table: quoted.join('.') };
}

type Row = Readonly<Record<string, unknown>>;
type Parameters = (string | string[])[];

/** The log in a table of PostgreSQL 13 or newer. Connects with the first read or write. */
export class PostgresLog implements LogDriver {
  readonly label: string;
  readonly batch = 8;
  private readonly deps: StoreDeps;
  private readonly server: ReturnType<typeof readAddress>['server'];
  /** The quoted name. */
  private readonly table: string;
  private sql: postgres.Sql | undefined;
  /** Whether the table has unique positions: else two writers could each believe that they are first. */
  private isChecked = false;
  /** The position of the last row that was loaded, and the number of rows up to it: none is inserted before it. */
  private loaded = { position: '0', rows: 0 };

  constructor(deps: StoreDeps) {
    const { server, table } = readAddress(deps);
    this.deps = deps;
    this.label = deps.location.address;
    this.server = server;
    this.table = table;
  }

  async load(): Promise<LoadedLines> {
    const { position, rows: from } = this.loaded;
    const query = `select position, line from ${this.table} where position > $1::bigint order by position`;
    const rows = await this.run(query, [position]);
    this.loaded = { position: String(rows.at(-1)?.position ?? position), rows: from + rows.length };
    return { from, lines: rows.map(({ line }) => String(line)) };
  }

  async write(lines: readonly string[]): Promise<void> {
    if (!this.isChecked) await this.check();
    await this.insert(lines);
  }

  async prepare(): Promise<string> {
    // `if not exists` needs the permission to create even if the table exists.
    const [found] = await this.run('select to_regclass($1)::text as name', [this.table]);
    if (found?.name === null) {
      await this.run(`create table if not exists ${this.table} (position bigint primary key, line text not null)`);
    }
    await this.check();
    const [schema, table] = this.table.split('.');
    const usage = table === undefined ? '' : `GRANT USAGE ON SCHEMA ${schema} TO <user>; `;
    return `${usage}GRANT SELECT, INSERT ON ${this.table} TO <user>;`;
  }

  /** Inserts nothing, but fails without the table, its columns, its unique positions, or the permission. */
  async check(): Promise<void> {
    await this.insert([], 'on conflict (position) do nothing');
    this.isChecked = true;
  }

  async close(): Promise<void> {
    const { sql } = this;
    this.sql = undefined;
    await sql?.end({ timeout: 0 });
  }

  /** Turns on synchronous_commit if it is off, so that an acknowledged commit is on disk. */
  private async insert(lines: readonly string[], onConflict = ''): Promise<void> {
    const statement = `insert into ${this.table} (position, line)
      select last.position + new.number, new.line
      from (select coalesce(max(position), 0) as position from ${this.table}) as last,
        json_array_elements_text($1::json) with ordinality as new(line, number)
      where case current_setting('synchronous_commit')
        when 'off' then set_config('synchronous_commit', 'on', true) else '' end is not null ${onConflict}`;
    await this.run(statement, [[...lines]]);
  }

  /**
   * Runs a statement, and repeats it while it may succeed: one whose result is lost may be completed all the same. A
   * repeated insertion may add its lines twice, which is harmless.
   * @throws StateUnavailableError; the reason of the signal
   */
  private run(text: string, parameters: Parameters = []): Promise<readonly Row[]> {
    const recover = async (error: unknown): Promise<void> => {
      const isAnswer = error instanceof postgres.PostgresError;
      if (isAnswer && !REPEATABLE.test(error.code)) throw error;
      // The connection may be one on which nothing arrives any more.
      if (!isAnswer) await this.close();
    };
    return persist(this.deps, () => this.attempt(text, parameters), recover).catch((error: unknown) => {
      this.deps.signal.throwIfAborted();
      throw this.unavailable(error);
    });
  }

  private async attempt(text: string, parameters: Parameters): Promise<readonly Row[]> {
    const { signal } = this.deps;
    signal.throwIfAborted();
    this.sql ??= postgres({ ...this.server, ...CONNECTION });
    const limit = withTimeLimit(signal, STATEMENT_MS);
    const query = this.sql.unsafe<Row[]>(text, parameters);
    const rows = await Promise.race([query, once(limit, 'abort').then(() => undefined)]);
    if (rows) return rows;
    query.catch(() => undefined);
    throw new Error(`The server did not answer within ${STATEMENT_MS / 1000}s.`);
  }

  private unavailable(error: unknown): StateUnavailableError {
    const code = String(errorCode(error) ?? '');
    // A failure to connect to several addresses has no message of its own.
    const message = errorMessage(error instanceof AggregateError ? error.errors[0] : error);
    return new StateUnavailableError(`The database of the state cannot be used: ${this.label}`, {
      why: code === '' || message.includes(code) ? message : `${message} (${code})`,
      hint: `Nothing more is sent to the service. Check the address, the user, and the password (PGPASSWORD).
The owner of the table creates it, and gets the GRANT for other users, with: partnerctl state init '${this.label}'
The server must offer TLS, unless it is this machine: NODE_EXTRA_CA_CERTS names its certificate authority.`,
      cause: error,
    });
  }
}
