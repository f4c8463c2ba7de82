import postgres from 'postgres';
import { StateUnavailableError, UsageError } from '../errors.ts';
import { errorCode, errorMessage } from '../platform/error-code.ts';
import type { LogDriver, StoreDeps } from './log.ts';

/*
 * One row per record. The position of a row is one more than the highest that its statement sees: if two statements
 * choose the same one, the primary key lets only one of them commit, and the other is repeated. So a row commits only
 * after all rows before it, and no reader sees a row before an earlier one. Each statement is its own transaction and
 * uses no session state, which also works behind a transaction pooler.
 */

/** How long a statement may take, and how long it is repeated. */
const [STATEMENT_MS, PERSISTENCE_MS] = [30_000, 15_000];

/** Another statement used the same position, or the server is busy, full, or shut down. */
const REPEATABLE = /^(23505|40001|40P01|08|53|57|55P03|25P03)/;

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
function sslOf(sslmode: string, host: string): false | 'require' | 'verify-full' {
  const isLocal = host.startsWith('/') || host === 'localhost' || /^127[.\d]+$/.test(host);
  const mode = sslmode || (isLocal ? 'disable' : 'verify-full');
  if (mode === 'disable' && isLocal) return false;
  if (mode === 'require' || mode === 'verify-full') return mode;
  throw new UsageError('The connection to the database of the state must be encrypted.', {
    hint: 'Leave out sslmode, or use sslmode=require if the certificate of the server cannot be verified.',
  });
}

/**
 * Reads `postgres://user@host:5432/database?table=…&sslmode=…&host=/socket/directory`.
 * @throws UsageError if it names no user or no database, or has unknown parameters
 */
function parseTarget({ location, env, addSecret }: StoreDeps) {
  const url = new URL(location.address);
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
    throw new UsageError(`The address of the state names no user, or no database: ${location.address}`, {
      hint: 'For example: postgres://user@host/database',
    });
  }
  const password = location.password ?? env.PGPASSWORD;
  if (password) addSecret(password);
  const server = { host, port: Number(url.port || 5432), database, user, ssl: sslOf(sslmode, host) };
  return { server: { ...server, ...(password && { password }) }, table: quoteTable(table) };
}

type Row = Readonly<Record<string, unknown>>;

class PostgresLog implements LogDriver {
  readonly label: string;
  private readonly deps: StoreDeps;
  private readonly server: ReturnType<typeof parseTarget>['server'];
  /** The quoted name. */
  private readonly table: string;
  private sql: postgres.Sql | undefined;
  /** Whether the table has unique positions: else two writers could each believe that they are first. */
  private isChecked = false;

  /** @throws UsageError */
  constructor(deps: StoreDeps) {
    const { server, table } = parseTarget(deps);
    this.deps = deps;
    this.label = deps.location.address;
    this.server = server;
    this.table = table;
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
   * Runs a statement, and repeats it while it may succeed: one whose result is lost may be completed all the same. A
   * repeated insertion may add its lines twice, which is harmless.
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
        const isAnswer = error instanceof postgres.PostgresError;
        const isFinal = isAnswer && !REPEATABLE.test(error.code);
        if (isFinal || clock.monotonic() - start > PERSISTENCE_MS) throw this.unavailable(error);
        // The connection may be one on which nothing arrives any more.
        if (!isAnswer) await this.close();
        await clock.sleep(10 * 2 ** Math.min(attempt, 6) * random(), signal);
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
    return postgres({
      ...this.server,
      max: 1,
      connect_timeout: 10,
      prepare: false,
      fetch_types: false,
      onnotice: () => undefined,
      connection: { application_name: 'partnerctl' },
    });
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

/** The log in a table of PostgreSQL 13 or newer. Connects with the first read or write. @throws UsageError */
export function postgresLog(deps: StoreDeps): LogDriver {
  return new PostgresLog(deps);
}
