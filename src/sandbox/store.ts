import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { appendFile, type FileHandle, mkdir, open, readFile, rm, truncate } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join, relative, resolve } from 'node:path';
import * as v from 'valibot';
import {
  type Agent,
  type ChatSource,
  type CronJob,
  type Message,
  type PlannedReply,
  type Settings,
  type Space,
  settingsSchema,
  type Token,
  type Upload,
} from './rows.ts';
import type { Script } from './script.ts';

/** What a line of the journal has for each change: a row that was put, or the id of one that was removed. */
type Change = readonly [table: string, id: string, row?: unknown];

/** Rows in the order of creation. */
class Table<Row extends object> {
  readonly #rows = new Map<string, Row>();
  readonly #record: (id: string, row?: Row) => void;
  readonly #id: keyof Row | undefined;
  readonly #groupings: readonly (readonly (keyof Row)[])[];
  readonly #groups = new Map<string, Row[]>();

  /**
   * @param record gets each change
   * @param id the field that identifies a row; none in a table of one row
   * @param groupings the fields that `in` finds rows by; the rows of a table with any are never removed
   */
  constructor(
    record: (id: string, row?: Row) => void,
    id: keyof Row | undefined,
    groupings: readonly (readonly (keyof Row)[])[],
  ) {
    this.#record = record;
    this.#id = id;
    this.#groupings = groupings;
  }

  get(id = ''): Row | undefined {
    return this.#rows.get(id);
  }

  all(): Row[] {
    return [...this.#rows.values()];
  }

  /** The rows of a group, such as the agents of a space; not copied. @param where the fields in their declared order */
  in(where: Partial<Row>): readonly Row[] {
    return this.#groups.get(JSON.stringify(where)) ?? [];
  }

  /** Adds a row, or replaces the one with its id. */
  put(row: Row): void {
    const id = this.#id === undefined ? '' : String(row[this.#id]);
    this.apply(id, row);
    this.#record(id, row);
  }

  remove(id: string): void {
    this.apply(id);
    this.#record(id);
  }

  /** Makes a change in memory only. */
  apply(id: string, row?: Row): void {
    const earlier = this.#rows.get(id);
    if (row === undefined) return void this.#rows.delete(id);
    this.#rows.set(id, row);
    for (const fields of this.#groupings) {
      const key = JSON.stringify(Object.fromEntries(fields.map((field) => [field, row[field]])));
      const group = this.#groups.get(key) ?? [];
      this.#groups.set(key, group);
      if (earlier) group[group.indexOf(earlier)] = row;
      else group.push(row);
    }
  }
}

function createTables(record: (change: Change) => void) {
  const table = <Row extends object>(
    name: string,
    id?: keyof Row,
    ...groupings: readonly (readonly (keyof Row)[])[]
  ): Table<Row> => new Table((...change) => record([name, ...change]), id, groupings);
  return {
    tokens: table<Token>('tokens', 'token'),
    spaces: table<Space>('spaces', 'space_id', ['external_space_id']),
    agents: table<Agent>('agents', 'agent_id', ['space_id']),
    sources: table<ChatSource>('sources', 'source_id', ['agent_id']),
    messages: table<Message>(
      'messages',
      'message_id',
      ['source_id', 'session_id'],
      ['source_id', 'session_id', 'external_message_id'],
    ),
    replies: table<PlannedReply>('replies', 'message_id'),
    cronJobs: table<CronJob>('cronJobs', 'cron_job_id'),
    uploads: table<Upload>('uploads', 'upload_id', ['as']),
    settings: table<Settings>('settings'),
    /** Frozen at a time, or ahead of the machine's clock by an offset; in milliseconds. */
    clock: table<{ readonly frozen_at: number | null; readonly offset_ms: number }>('clock'),
    script: table<{ readonly rules: Script }>('script'),
    /** The key of the admin API, a token with every scope, and what signs webhooks. The next start has them, too. */
    secrets: table<{ readonly adminKey: string; readonly token: string; readonly webhookSecret: string }>('secrets'),
  };
}

/** The service's data. A change is in memory at once, and on disk when `durable` resolves. */
export interface Store extends ReturnType<typeof createTables> {
  /** Resolves when every change so far is on disk. Rejects forever once a write has failed. */
  durable(): Promise<void>;
  close(): Promise<void>;
}

/** The current settings. */
export function settingsOf(store: Store): Settings {
  // Those of an earlier version lack the newer settings.
  return v.parse(settingsSchema, store.settings.get() ?? {});
}

/** Whether a process listens on a socket. The system closes it with the process, however that ends. */
async function hasListener(address: string): Promise<boolean> {
  const socket = connect(address);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/**
 * Claims a directory for this process. The first claim in its file whose process still listens on the socket of that
 * claim owns it: a process id says nothing where containers share a directory.
 * @returns a function that releases the claim
 */
async function claimDirectory(directory: string): Promise<() => Promise<void>> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const [claims, own] = [join(directory, 'claims'), randomUUID()];
  const pathOf = (claim: string): string => join(directory, `${claim}.sock`);
  // Systems limit the path of a socket to about a hundred bytes.
  const addressOf = (claim: string): string =>
    process.platform === 'win32' ? `\\\\.\\pipe\\${claim}` : relative('', pathOf(claim));
  const server = createServer().unref();
  const release = async (): Promise<void> => {
    server.close();
    await rm(pathOf(own), { force: true });
  };
  server.listen(addressOf(own));
  await once(server, 'listening');
  await appendFile(claims, `${own}\n`, { mode: 0o600 });
  for (const claim of (await readFile(claims, 'utf8')).split('\n')) {
    if (claim === own) break;
    if (await hasListener(addressOf(claim))) {
      await release();
      throw new Error(`The data directory ${directory} is in use by another sandbox.`);
    }
    await rm(pathOf(claim), { force: true });
  }
  return release;
}

/**
 * Collects changes, and writes them as lines of JSON, each made durable by one fsync. Changes that arrive during a
 * write share the next line. After a failed write nothing more is written, because memory is then ahead of the disk.
 */
function createJournal(file: FileHandle) {
  let waiting: Change[] = [];
  let writing: Promise<void> = Promise.resolve();
  const writeWaiting = async (): Promise<void> => {
    if (waiting.length === 0) return;
    const line = `${JSON.stringify(waiting)}\n`;
    waiting = [];
    await file.appendFile(line);
    await file.datasync();
  };
  return {
    record: (change: Change): void => void waiting.push(change),
    durable(): Promise<void> {
      writing = writing.then(writeWaiting);
      return writing;
    },
  };
}

/** Makes the changes of a journal, and cuts off a last line that a crash has torn: nothing in it was acknowledged. */
async function recover(path: string, tables: Readonly<Record<string, Pick<Table<object>, 'apply'>>>): Promise<void> {
  const text = await readFile(path, 'utf8');
  const complete = text.slice(0, text.lastIndexOf('\n') + 1);
  if (complete !== text) await truncate(path, Buffer.byteLength(complete));
  for (const [index, line] of complete.split('\n').slice(0, -1).entries()) {
    try {
      for (const [name, id, row] of JSON.parse(line)) tables[name]?.apply(id, row);
    } catch {
      throw new Error(`line ${index + 1} is damaged`);
    }
  }
}

/**
 * Opens the store of a data directory, and creates the directory if it is missing.
 * @param dataDir without one, the data is in memory only
 * @throws Error when another running sandbox uses the directory, or its journal is damaged
 */
export async function openStore(dataDir: string | undefined): Promise<Store> {
  if (dataDir === undefined) {
    return { ...createTables(() => undefined), durable: () => Promise.resolve(), close: () => Promise.resolve() };
  }
  const directory = resolve(dataDir);
  const release = await claimDirectory(directory);
  const path = join(directory, 'journal.jsonl');
  let file: FileHandle | undefined;
  const close = () => (file?.close() ?? Promise.resolve()).finally(release);
  try {
    file = await open(path, 'a', 0o600);
    const { record, durable } = createJournal(file);
    const tables = createTables(record);
    await recover(path, tables);
    return { ...tables, durable, close: () => durable().finally(close) };
  } catch (cause) {
    await close();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`Cannot open the sandbox's journal ${path}: ${reason}.`, { cause });
  }
}
