import { LocalError, StateUnavailableError } from '../errors.ts';
import { encodeLine, type Redact } from './append.ts';
import type { PostgresTarget } from '../state/postgres-address.ts';
import { type ConnectionDeps, PostgresConnection } from './postgres-connection.ts';
import { entryOf, type ReadOptions, type StateStore, type StoreEntry } from './store.ts';

/*
 * Keeps the log in a PostgreSQL table, one row per record. Each statement is its own transaction and uses no session state,
 * so it also works behind a transaction pooler.
 *
 * The position of a row is one more than the highest that its statement sees. If two statements choose the same position,
 * the primary key lets only one of them commit, and the other is repeated. So a row commits only after all rows before it,
 * and no reader ever sees a row before an earlier one.
 */

export interface PostgresDeps extends ConnectionDeps {
  readonly redact: Redact;
}

/** Rows per read. Limits the memory that a long log needs. */
const ROWS_PER_READ = 2000;

/** Rows per statement of a copy. */
const ROWS_PER_WRITE = 1000;

/**
 * Appends lines in one statement. After a lost result, a repeat may add a line twice: readers use only the first one. Turns
 * on synchronous_commit if it is off, so that an acknowledged commit is on disk.
 */
function insertStatement(table: string): string {
  return `insert into ${table} (position, line)
    select last.position + new.number, new.line
    from (select coalesce(max(position), 0) as position from ${table}) as last,
      json_array_elements_text($1::json) with ordinality as new(line, number)
    where case current_setting('synchronous_commit')
      when 'off' then set_config('synchronous_commit', 'on', true) else '' end is not null`;
}

/** Appends one line, or none if another writer was first. Fails on a table whose positions are not unique. */
function appendStatement(table: string): string {
  return `${insertStatement(table)} on conflict (position) do nothing`;
}

/** Starts with the last row that was read, to check that it still exists. */
function readStatement(table: string): string {
  return `select position::text as number, line from ${table} where position >= $1::bigint order by position limit ${ROWS_PER_READ}`;
}

interface StoredRow {
  readonly position: number;
  readonly line: string;
}

async function readRows(
  connection: PostgresConnection,
  { table, label }: PostgresTarget,
  from: number,
): Promise<readonly StoredRow[]> {
  const rows = await connection.run(readStatement(table), [String(from)]);
  return rows.map(({ number, line }: { readonly number?: unknown; readonly line?: unknown }) => {
    if (typeof number === 'string' && typeof line === 'string') return { position: Number(number), line };
    throw new LocalError(`The table of the state has other columns than expected: ${label}`, {
      why: `${table} needs the columns position (bigint) and line (text).`,
      hint: 'Name another table in the address: ?table=<name>',
    });
  });
}

/** Returns a filter for lines to skip by their text. Never skips a line that does not look like a record. */
function createFilter({ containing, isSkipped }: ReadOptions): (bytes: Buffer, line: string) => boolean {
  return (bytes, line) => {
    const looksWhole = line.startsWith('{') && line.endsWith('}');
    if (containing && looksWhole && !containing.some((text) => line.includes(text))) return true;
    return isSkipped?.(bytes, 0, bytes.length) ?? false;
  };
}

/** Whether a row is still the one that was read. After a deletion or a failover, a new row may have its position. */
function isSameRow(found: StoredRow | undefined, read: StoredRow): boolean {
  return found?.position === read.position && found.line === read.line;
}

/**
 * Yields the rows after the cursor, and advances it. `restart`: the row of the cursor no longer exists, and the first row
 * comes next.
 */
async function* newRows(
  connection: PostgresConnection,
  target: PostgresTarget,
  cursor: { last: StoredRow | undefined },
): AsyncGenerator<StoredRow | 'restart'> {
  for (;;) {
    const { last } = cursor;
    const rows = await readRows(connection, target, last?.position ?? 1);
    const isLost = last !== undefined && !isSameRow(rows[0], last);
    if (isLost) {
      cursor.last = undefined;
      yield 'restart';
      continue;
    }
    for (const row of last ? rows.slice(1) : rows) {
      cursor.last = row;
      yield row;
    }
    if (rows.length < ROWS_PER_READ) return;
  }
}

function rowReader(connection: PostgresConnection, target: PostgresTarget, options: ReadOptions) {
  const isOther = createFilter(options);
  const sums = new Set<string>();
  const cursor = { last: undefined };
  return async function* readNew(): AsyncGenerator<StoreEntry> {
    for await (const row of newRows(connection, target, cursor)) {
      if (row === 'restart') {
        sums.clear();
        yield { kind: 'restart' };
        continue;
      }
      const bytes = Buffer.from(row.line);
      if (!isOther(bytes, row.line)) yield entryOf({ line: row.position, bytes }, sums);
    }
  };
}

async function createTable(connection: PostgresConnection, { table, label }: PostgresTarget): Promise<string> {
  const [encoding] = await connection.run("select current_setting('server_encoding') as name", []);
  // SQL_ASCII stores bytes unchanged.
  if (encoding?.name !== 'UTF8' && encoding?.name !== 'SQL_ASCII') {
    throw new LocalError(`The database cannot hold all names: ${label}`, {
      why: `Its encoding is ${String(encoding?.name)}.`,
      hint: "Use a database that was created with ENCODING 'UTF8'.",
    });
  }
  // `if not exists` needs the permission to create even if the table exists.
  const [found] = await connection.run('select to_regclass($1)::text as name', [table]);
  if (found?.name === null) {
    await connection.run(`create table if not exists ${table} (position bigint primary key, line text not null)`, []);
  }
  const [schema] = table.includes('.') ? table.split('.') : [];
  const usage = schema === undefined ? '' : `GRANT USAGE ON SCHEMA ${schema} TO <user>; `;
  return `${usage}GRANT SELECT, INSERT ON ${table} TO <user>;`;
}

/** Returns the log in a table of PostgreSQL 13 or newer. Connects with the first read or write. */
export function postgresStore(deps: PostgresDeps): StateStore {
  const { target } = deps;
  const connection = new PostgresConnection(deps);
  // Inserts nothing, but fails without the table, its columns, its key, or the permission.
  const check = async (): Promise<void> => {
    await connection.run(appendStatement(target.table), [[]]);
  };
  return {
    label: target.label,
    reservationsAtOnce: 1,
    together: (act) => act(),
    open: (options = {}) => ({
      readNew: rowReader(connection, target, options),
      async append(record) {
        const lines = [encodeLine(record, target.label, deps.redact)];
        const { count } = await connection.run(appendStatement(target.table), [lines], (rows) => rows.count === 1);
        if (count === 1) return;
        throw new StateUnavailableError(`The database did not store the record: ${target.label}`, {
          why: 'The statement succeeded each time, but added no row. A trigger or a rule may drop it, or other writers were always first.',
          hint: `Check the triggers and rules of ${target.table}, then run the command again.`,
        });
      },
    }),
    async appendLines(lines) {
      await check();
      for (let start = 0; start < lines.length; start += ROWS_PER_WRITE) {
        await connection.run(insertStatement(target.table), [lines.slice(start, start + ROWS_PER_WRITE)]);
      }
    },
    async init() {
      const grants = await createTable(connection, target);
      await check();
      return grants;
    },
    // Without the table, reading and writing fail.
    exists: async () => true,
    check,
    close: () => connection.close(),
  };
}
