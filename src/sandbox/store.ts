import { open, readFile, truncate } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import * as v from 'valibot';
import { claimDirectory, Files, hasErrorCode } from './files.ts';
import {
  type Agent,
  type ChatSource,
  type CronJob,
  type Delivery,
  type Message,
  type Settings,
  type Space,
  settingsSchema,
  type Token,
  type Upload,
} from './resources.ts';
import type { Script } from './script.ts';

/** A message that an agent has planned and not sent yet. It has its id already, so that a crash cannot send it twice. */
export interface PlannedReply extends Omit<Message, 'external_message_id' | 'cron_job_id' | 'created_at'> {
  /** Milliseconds since the epoch. */
  readonly due_at: number;
}

/** The URL that gets every completed message, and the secret that signs them. */
export interface Webhook {
  readonly url: string;
  readonly secret: string;
}

/** The key of the admin API, and the default token. */
interface Secrets {
  readonly adminKey: string;
  readonly token?: string;
}

/** The service's clock: frozen at a time, or ahead of the machine's by an offset; in milliseconds. */
interface ClockState {
  readonly frozen_at: number | null;
  readonly offset_ms: number;
}

/** What a line of the journal has for each change: a row that was put or removed, or a table that was emptied. */
type Change = readonly [table: string, id?: string | undefined, row?: unknown];

/** Rows by id, in the order of creation. */
class Table<Row> {
  readonly #rows = new Map<string, Row>();
  readonly #groups = new Map<string, Map<string, Row>>();
  readonly #record: (id?: string, row?: Row) => void;
  readonly #idOf: (row: Row) => string;
  readonly #groupOf: (row: Row) => string;

  constructor(record: (id?: string, row?: Row) => void, idOf: (row: Row) => string, groupOf: (row: Row) => string) {
    this.#record = record;
    this.#idOf = idOf;
    this.#groupOf = groupOf;
  }

  get(id = ''): Row | undefined {
    return this.#rows.get(id);
  }

  all(): Row[] {
    return [...this.#rows.values()];
  }

  /** The rows of a group, such as the agents of a space. */
  in(group: string): Row[] {
    return [...(this.#groups.get(group)?.values() ?? [])];
  }

  /** Adds a row, or replaces the one with its id. */
  put(row: Row): void {
    this.apply(this.#idOf(row), row);
    this.#record(this.#idOf(row), row);
  }

  remove(id: string): void {
    this.apply(id);
    this.#record(id);
  }

  clear(): void {
    this.apply();
    this.#record();
  }

  /** Makes a change in memory only. */
  apply(id?: string, row?: Row): void {
    const changed = row ?? this.get(id);
    if (id === undefined) {
      this.#rows.clear();
      this.#groups.clear();
    } else if (changed !== undefined) {
      const group = this.#groups.get(this.#groupOf(changed)) ?? new Map<string, Row>();
      this.#groups.set(this.#groupOf(changed), group);
      for (const rows of [this.#rows, group]) row === undefined ? rows.delete(id) : rows.set(id, row);
    }
  }
}

/** The group of a session's messages. */
export function sessionKey(sourceId: string, sessionId: string): string {
  return JSON.stringify([sourceId, sessionId]);
}

/** @param record gets each change */
function createTables(record: (change: Change) => void) {
  const create = <Row>(
    name: string,
    idOf: (row: Row) => string,
    groupOf: (row: Row) => string = () => '',
  ): Table<Row> => new Table((...change) => record([name, ...change]), idOf, groupOf);
  /** @param id the field that identifies a row @param group the field that `in` finds rows by */
  const table = <Row>(name: string, id: keyof Row, group?: keyof Row): Table<Row> => {
    const groupOf = (row: Row): string => (group === undefined ? '' : String(row[group]));
    return create(name, (row) => String(row[id]), groupOf);
  };
  const messages = <Row extends Omit<PlannedReply, 'due_at'>>(name: string): Table<Row> => {
    const groupOf = ({ source_id, session_id }: Row): string => sessionKey(source_id, session_id);
    return create(name, (row) => row.message_id, groupOf);
  };
  /** A table of one row, whose id is empty. */
  const single = <Row>(name: string): Table<Row> => create(name, () => '');
  return {
    tokens: table<Token>('tokens', 'token_id', 'secret_sha256'),
    spaces: table<Space>('spaces', 'space_id', 'external_space_id'),
    agents: table<Agent>('agents', 'agent_id', 'space_id'),
    sources: table<ChatSource>('sources', 'source_id', 'agent_id'),
    messages: messages<Message>('messages'),
    /** The messages that a busy agent has not taken yet. */
    inbox: messages<Message>('inbox'),
    replies: messages<PlannedReply>('replies'),
    cronJobs: table<CronJob>('cronJobs', 'cron_job_id'),
    uploads: table<Upload>('uploads', 'upload_id', 'as'),
    deliveries: table<Delivery>('deliveries', 'delivery_id'),
    settings: single<Settings>('settings'),
    clock: single<ClockState>('clock'),
    script: single<{ readonly rules: Script }>('script'),
    webhook: single<Webhook>('webhook'),
    /** The secrets that the next start is to have, too. */
    secrets: single<Secrets>('secrets'),
  };
}

/** The service's data. A change is in memory at once, and on disk when `durable` resolves. */
export interface Store extends ReturnType<typeof createTables> {
  readonly files: Files;
  /** Resolves when every change so far is on disk. Rejects forever once a write has failed. */
  durable(): Promise<void>;
  close(): Promise<void>;
}

const DEFAULT_SETTINGS = v.parse(settingsSchema, {});

/** The current settings. */
export function settingsOf(store: Store): Settings {
  return store.settings.get() ?? DEFAULT_SETTINGS;
}

/** Creates a store in memory. */
export function createMemoryStore(): Store {
  const files = new Files(undefined);
  return { ...createTables(() => undefined), files, durable: () => Promise.resolve(), close: () => files.close() };
}

/**
 * Collects changes, and writes them as lines of JSON, each made durable by one fsync. Changes that arrive during a write share
 * the next line. After a failed write nothing more is written, because memory is then ahead of the disk.
 */
function createJournal(write: (line: string) => Promise<void>) {
  let waiting: Change[] = [];
  let writing: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  const writeNext = (): Promise<void> => {
    const line = `${JSON.stringify(waiting)}\n`;
    waiting = [];
    next = undefined;
    writing = write(line);
    return writing;
  };
  return {
    record: (change: Change): void => void waiting.push(change),
    durable(): Promise<void> {
      if (waiting.length === 0) return writing;
      next ??= writing.then(writeNext);
      return next;
    },
  };
}

/** Reads the changes of a journal, and cuts off a last line that a crash has torn: nothing in it was acknowledged. */
async function recoverChanges(path: string): Promise<Change[]> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (hasErrorCode(error, 'ENOENT')) return '';
    throw error;
  });
  const complete = text.slice(0, text.lastIndexOf('\n') + 1);
  if (complete !== text) await truncate(path, Buffer.byteLength(complete));
  const changes: Change[] = [];
  for (const [index, line] of complete.split('\n').slice(0, -1).entries()) {
    try {
      for (const change of JSON.parse(line)) changes.push(change);
    } catch {
      throw new Error(`line ${index + 1} is damaged`);
    }
  }
  return changes;
}

/**
 * Opens the store of a data directory, and creates the directory if it is missing.
 * @throws Error when another running sandbox uses the directory, it holds only other files, or its journal is damaged
 */
export async function openStore(dataDir: string): Promise<Store> {
  const directory = resolve(dataDir);
  const release = await claimDirectory(directory);
  const path = join(directory, 'journal.jsonl');
  try {
    const changes = await recoverChanges(path);
    const file = await open(path, 'a', 0o600);
    const journal = createJournal((line) => file.appendFile(line).then(() => file.datasync()));
    const tables = createTables(journal.record);
    const byName: { readonly [name: string]: { apply(id?: string, row?: unknown): void } | undefined } = tables;
    for (const change of changes) {
      const [name, id, row] = Array.isArray(change) ? change : [''];
      const table = byName[name];
      if (!table) throw new Error('it was written by another version');
      table.apply(id, row);
    }
    const files = new Files(directory);
    await files.keepOnly(tables.uploads.all().map(({ upload_id }) => upload_id));
    const close = () => journal.durable().finally(() => file.close().finally(release));
    return { ...tables, files, durable: journal.durable, close };
  } catch (cause) {
    await release();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`Cannot open the sandbox's journal ${path}: ${reason}.`, { cause });
  }
}
