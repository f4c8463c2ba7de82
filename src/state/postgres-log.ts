import postgres from 'postgres';
import { StateUnavailableError } from '../errors.ts';
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
const [STATEMENT_MS, PERSISTENCE_MS] = [30_000, 15_000];

/** Another statement used the same position, or the transaction must be repeated. */
const CONFLICT = /^(23505|40001|40P01)$/;
/** What the server says when it is full, shut down, or busy, or when a statement took too long. */
const BUSY = /^(08|53|57|55P03|25P03)/;
/** Failures to connect that another attempt would repeat: an unknown host, an invalid certificate, a server without TLS. */
const FINAL = /^(ENOTFOUND|ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;

function isFinal(error: unknown, code: string): boolean {
  return error instanceof postgres.PostgresError ? !CONFLICT.test(code) && !BUSY.test(code) : FINAL.test(code);
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
    const rows = await this.run(`select line from ${this.table} order by position`);
    return rows.map(({ line }) => String(line));
  }

  async write(lines: readonly string[]): Promise<void> {
    if (!this.isChecked) await this.check();
    await this.run(this.insertion(), lines);
  }

  async prepare(): Promise<string> {
    // `if not exists` needs the permission to create even if the table exists.
    const [found] = await this.run(`select to_regclass('${this.table}')::text as name`);
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
    await this.run(`${this.insertion()} on conflict (position) do nothing`, []);
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
   * @param lines the parameter of the statement, if it has one
   * @throws StateUnavailableError; the reason of the signal
   */
  private async run(text: string, lines?: readonly string[]): Promise<readonly Row[]> {
    const { clock, random, signal } = this.deps;
    const start = clock.monotonic();
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.attempt(text, lines);
      } catch (error) {
        signal.throwIfAborted();
        const code = String(errorCode(error) ?? '');
        const isConflict = CONFLICT.test(code);
        if (!isConflict) await this.close();
        if (isFinal(error, code) || clock.monotonic() - start > PERSISTENCE_MS) throw this.unavailable(error, code);
        await clock.sleep((isConflict ? 5 : 100) * 2 ** Math.min(attempt, 5) * random(), signal);
      }
    }
  }

  private async attempt(text: string, lines?: readonly string[]): Promise<readonly Row[]> {
    const { clock, signal } = this.deps;
    this.sql ??= this.connect();
    const done = new AbortController();
    const query = this.sql.unsafe<Row[]>(text, lines && [[...lines]]);
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
    const { label: _label, table: _table, ...target } = this.deps.target;
    return postgres({
      ...target,
      max: 1,
      connect_timeout: 10,
      prepare: false,
      fetch_types: false,
      onnotice: () => undefined,
      connection: { application_name: 'partnerctl' },
    });
  }

  private unavailable(error: unknown, code: string): StateUnavailableError {
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

/** The log in a table of PostgreSQL 13 or newer. Connects with the first read or write. */
export function postgresLog(deps: PostgresDeps): LogDriver {
  return new PostgresLog(deps);
}
