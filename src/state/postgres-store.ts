import postgres from 'postgres';
import type { Clock } from '../clock.ts';
import { LocalError, StateUnavailableError } from '../errors.ts';
import { encodeLine, type Redact } from './append.ts';
import type { PostgresTarget } from './postgres-address.ts';
import { entryOf, type ReadOptions, type StateStore, type StoreEntry } from './store.ts';

/*
 * Keeps the log in a table of PostgreSQL, a row for each record. Each statement is a transaction of its own and needs
 * nothing of the session, so that it also works behind a transaction pooler.
 *
 * A row's position is one more than the highest that its statement sees. If two statements choose the same one, the primary
 * key lets only one of them commit, and the other is tried again. So a row commits only after all rows before it did, and
 * no reader ever sees a row before an earlier one.
 */

export interface PostgresDeps {
  readonly target: PostgresTarget;
  readonly redact: Redact;
  readonly clock: Clock;
  readonly random: () => number;
  /** Ends waiting for the database. */
  readonly abortSignal: AbortSignal;
}

/** Rows per read: bounds the memory that a long log takes. */
const ROWS_PER_READ = 5000;

/** Rows per statement of a copy. */
const ROWS_PER_WRITE = 1000;

/** How long to try again when connections are lost. */
const PERSISTENCE_MS = 15_000;

/** Another statement took the same position, or the database asks to repeat the transaction. */
const CONFLICT_CODES: ReadonlySet<string> = new Set(['23505', '40001', '40P01']);

/** Why a query failed: as the server says it, or as the system names the failure of a connection. */
interface QueryFailure {
  readonly code: string;
  readonly message: string;
  /** Whether the server itself refused the query, which thus had no effect. */
  readonly isRefusal: boolean;
}

function describeFailure(error: unknown): QueryFailure | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  // The classes 08 and 57: the connection broke, or the server is shutting down.
  const isRefusal = error instanceof postgres.PostgresError && !/^(08|57)/.test(code);
  // A failure to connect to several addresses has no message of its own.
  const message = error.message || (error instanceof AggregateError ? String(error.errors[0]) : code);
  return { code, message, isRefusal };
}

function refusalHint(code: string, { table, user }: PostgresTarget): string {
  if (code === '42P01') return 'Create the table: partnerctl state init';
  if (code === '42501') return `Let its owner run: GRANT SELECT, INSERT ON ${table} TO "${user}"`;
  if (code.startsWith('28')) return 'Check the user in the address, and the password in PGPASSWORD or PGPASSFILE.';
  return 'Check the address: partnerctl state path';
}

function toError(error: unknown, target: PostgresTarget): unknown {
  const failure = describeFailure(error);
  if (!failure) return error;
  const { code, message, isRefusal } = failure;
  const named = code === '' || message.includes(code) ? message : `${message} (${code})`;
  if (isRefusal) {
    const hint = refusalHint(code, target);
    return new StateUnavailableError(`The database of the state refused a query: ${target.label}`, {
      why: named,
      hint,
      cause: error,
    });
  }
  return new StateUnavailableError(`The database of the state cannot be reached: ${target.label}`, {
    why: named,
    hint: 'Nothing more is sent to the service while the state cannot be read and written. Run the command again when the database is back.',
    cause: error,
  });
}

class PostgresConnection {
  private readonly deps: PostgresDeps;
  private readonly sql: postgres.Sql;
  private readonly end: () => void;

  constructor(deps: PostgresDeps) {
    this.deps = deps;
    this.sql = postgres({
      ...deps.target.connection,
      max: 2,
      prepare: false,
      fetch_types: false,
      onnotice: () => undefined,
      connection: { application_name: 'partnerctl' },
    });
    this.end = () => void this.close();
    deps.abortSignal.addEventListener('abort', this.end, { once: true });
  }

  /** Runs one statement, again where a connection was lost or another writer was first: repeating it must do no harm. */
  async run(
    text: string,
    parameters: readonly postgres.ParameterOrJSON<never>[],
  ): Promise<postgres.RowList<postgres.Row[]>> {
    const { clock, random, abortSignal, target } = this.deps;
    const until = clock.monotonic() + PERSISTENCE_MS;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.sql.unsafe(text, [...parameters]);
      } catch (error) {
        abortSignal.throwIfAborted();
        const failure = describeFailure(error);
        const isConflict = failure !== undefined && CONFLICT_CODES.has(failure.code);
        const canRetry = failure !== undefined && (isConflict || !failure.isRefusal) && clock.monotonic() < until;
        if (!canRetry) throw toError(error, target);
        const longest = isConflict ? 5 * 2 ** Math.min(attempt, 5) : 100 * 2 ** Math.min(attempt, 4);
        await clock.sleep(longest * random(), abortSignal);
      }
    }
  }

  async close(): Promise<void> {
    this.deps.abortSignal.removeEventListener('abort', this.end);
    await this.sql.end({ timeout: 1 });
  }
}

/**
 * Appends lines in one statement. A line whose answer was lost may be there twice after a retry: readers count a record
 * once, at its first place.
 */
function insertStatement(table: string): string {
  return `insert into ${table} (position, line)
    select last.position + new.number, new.line
    from (select coalesce(max(position), 0) as position from ${table}) as last,
      json_array_elements_text($1::json) with ordinality as new(line, number)`;
}

function readStatement(table: string): string {
  return `select position::text as number, line from ${table} where position > $1::bigint order by position limit ${ROWS_PER_READ}`;
}

async function* readRows(
  connection: PostgresConnection,
  { table, label }: PostgresTarget,
  after: number,
): AsyncGenerator<{ readonly position: number; readonly bytes: Buffer }> {
  let position = after;
  for (;;) {
    const rows = await connection.run(readStatement(table), [String(position)]);
    for (const row of rows) {
      const { number, line }: { readonly number?: unknown; readonly line?: unknown } = row;
      if (typeof number !== 'string' || typeof line !== 'string') {
        throw new LocalError(`The table of the state has other columns than expected: ${label}`, {
          why: `${table} needs the columns position (bigint) and line (text).`,
          hint: 'Name another table in the address: ?table=<name>',
        });
      }
      position = Number(number);
      yield { position, bytes: Buffer.from(line) };
    }
    if (rows.length < ROWS_PER_READ) return;
  }
}

function rowReader(connection: PostgresConnection, target: PostgresTarget, { containing, isSkipped }: ReadOptions) {
  const texts = containing?.map((text) => Buffer.from(text));
  const sums = new Set<string>();
  let last = 0;
  return async function* readNew(): AsyncGenerator<StoreEntry> {
    for await (const { position, bytes } of readRows(connection, target, last)) {
      last = position;
      if (texts && !texts.some((text) => bytes.includes(text))) continue;
      if (isSkipped?.(bytes, 0, bytes.length)) continue;
      yield entryOf({ line: position, bytes }, sums);
    }
  };
}

/** Returns the log in a table of PostgreSQL 13 or newer. Connects with the first read or write. */
export function postgresStore(deps: PostgresDeps): StateStore {
  const { target } = deps;
  const connection = new PostgresConnection(deps);
  return {
    label: target.label,
    reservationsAtOnce: 4,
    open: (options = {}) => ({
      readNew: rowReader(connection, target, options),
      async append(record) {
        await connection.run(insertStatement(target.table), [[encodeLine(record, target.label, deps.redact)]]);
      },
    }),
    async appendLines(lines) {
      for (let start = 0; start < lines.length; start += ROWS_PER_WRITE) {
        await connection.run(insertStatement(target.table), [lines.slice(start, start + ROWS_PER_WRITE)]);
      }
    },
    async init() {
      const { table } = target;
      await connection.run(`create table if not exists ${table} (position bigint primary key, line text not null)`, []);
      return `GRANT SELECT, INSERT ON ${table} TO <user>;`;
    },
    async check() {
      // Inserts nothing, but needs the table and the permission.
      await connection.run(insertStatement(target.table), [[]]);
    },
    close: () => connection.close(),
  };
}
