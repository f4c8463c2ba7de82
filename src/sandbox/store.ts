import { type FileHandle, open, readFile, truncate } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { claimDirectory, hasErrorCode, JOURNAL_FILE } from './data-directory.ts';
import type { Agent, ChatSource, CronJob, Message, Space, Upload } from './resources.ts';
import type { Script } from './script.ts';
import { DEFAULT_SETTINGS, type Settings } from './settings.ts';
import { UploadFiles } from './upload-files.ts';

/** A partner token (spec §2); its secret is never stored. */
export interface Token {
  readonly token_id: string;
  readonly secret_sha256: string;
  readonly scopes: readonly string[];
  readonly allowed_ip_cidrs: readonly string[];
  readonly created_at: string;
}

/** An approved agent template (spec §2). */
export interface Template {
  readonly template_id: string;
  readonly name: string;
}

/** A message that an agent has planned and not sent yet. It has its id already, so that a crash cannot send it twice. */
export interface PlannedReply
  extends Pick<Message, 'message_id' | 'source_id' | 'session_id' | 'role' | 'text' | 'in_reply_to'> {
  /** Milliseconds since the epoch. */
  readonly due_at: number;
}

/** The URL that gets every completed message, and the secret that signs them. */
export interface Webhook {
  readonly url: string;
  readonly secret: string;
}

/** One message for one receiver. */
export interface Delivery {
  readonly delivery_id: string;
  readonly url: string;
  /** Null for a delivery that is not signed. */
  readonly secret: string | null;
  readonly message: Message;
  readonly status: 'pending' | 'delivered' | 'failed';
  readonly attempts: readonly DeliveryAttempt[];
  /** Milliseconds since the epoch; null unless pending. */
  readonly next_attempt_at: number | null;
}

export interface DeliveryAttempt {
  readonly at: string;
  /** Null without a response. */
  readonly status: number | null;
  /** Why it failed; null if it did not. */
  readonly error: string | null;
  readonly duration_ms: number;
}

/** The service's clock: frozen at a time, or ahead of the machine's by an offset; in milliseconds. */
export interface ClockState {
  readonly frozen_at: number | null;
  readonly offset_ms: number;
}

/** A change as the journal has it: the row of a table, or nothing where it was removed; without an id, the table is emptied. */
type Change = readonly [table: string, id?: string, row?: unknown];

type Record = (change: Change) => void;

/** Rows by id, in the order of creation. Only these functions change them. */
export class Table<Row> {
  readonly #rows = new Map<string, Row>();
  readonly #groups = new Map<string, Map<string, Row>>();
  readonly #name: string;
  readonly #record: Record;
  readonly #idOf: (row: Row) => string;
  readonly #groupOf: (row: Row) => string;

  constructor(name: string, record: Record, idOf: (row: Row) => string, groupOf: (row: Row) => string = () => '') {
    this.#name = name;
    this.#record = record;
    this.#idOf = idOf;
    this.#groupOf = groupOf;
  }

  get(id: string): Row | undefined {
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
    this.restore([this.#name, this.#idOf(row), row]);
    this.#record([this.#name, this.#idOf(row), row]);
  }

  remove(id: string): void {
    this.restore([this.#name, id]);
    this.#record([this.#name, id]);
  }

  clear(): void {
    this.restore([this.#name]);
    this.#record([this.#name]);
  }

  /** Makes a change that the journal has already. */
  restore([, id, row]: readonly [table: string, id?: string, row?: Row]): void {
    if (id === undefined) {
      this.#rows.clear();
      this.#groups.clear();
      return;
    }
    const former = this.#rows.get(id);
    if (row !== undefined) {
      this.#rows.set(id, row);
      const group = this.#groups.get(this.#groupOf(row)) ?? new Map<string, Row>();
      this.#groups.set(this.#groupOf(row), group.set(id, row));
    } else if (former !== undefined) {
      this.#rows.delete(id);
      this.#groups.get(this.#groupOf(former))?.delete(id);
    }
  }
}

/** The group of a session's messages. */
export function sessionKey(sourceId: string, sessionId: string): string {
  return JSON.stringify([sourceId, sessionId]);
}

const keyOfSession = (row: { source_id: string; session_id: string }) => sessionKey(row.source_id, row.session_id);

function createTables(record: Record) {
  return {
    tokens: new Table<Token>(
      'tokens',
      record,
      (row) => row.token_id,
      (row) => row.secret_sha256,
    ),
    templates: new Table<Template>('templates', record, (row) => row.template_id),
    spaces: new Table<Space>(
      'spaces',
      record,
      (row) => row.space_id,
      (row) => row.external_space_id,
    ),
    agents: new Table<Agent>(
      'agents',
      record,
      (row) => row.agent_id,
      (row) => row.space_id,
    ),
    sources: new Table<ChatSource>(
      'sources',
      record,
      (row) => row.source_id,
      (row) => row.agent_id,
    ),
    messages: new Table<Message>('messages', record, (row) => row.message_id, keyOfSession),
    /** The messages that a busy agent has not taken yet. */
    inbox: new Table<Message>('inbox', record, (row) => row.message_id, keyOfSession),
    replies: new Table<PlannedReply>('replies', record, (row) => row.message_id, keyOfSession),
    cronJobs: new Table<CronJob>('cronJobs', record, (row) => row.cron_job_id),
    uploads: new Table<Upload>(
      'uploads',
      record,
      (row) => row.upload_id,
      (row) => row.as,
    ),
    deliveries: new Table<Delivery>('deliveries', record, (row) => row.delivery_id),
    // What there is one of: a table with one row.
    settings: new Table<Settings>('settings', record, () => ''),
    clock: new Table<ClockState>('clock', record, () => ''),
    script: new Table<{ readonly rules: Script }>('script', record, () => ''),
    webhook: new Table<Webhook>('webhook', record, () => ''),
  };
}

/** The service's data. A change is in memory at once, and on disk when `durable` resolves. */
export interface Store extends ReturnType<typeof createTables> {
  readonly files: UploadFiles;
  /** Resolves when every change so far is on disk. Rejects forever once a write has failed. */
  durable(): Promise<void>;
  close(): Promise<void>;
}

/** The current settings. */
export function settingsOf(store: Store): Settings {
  return store.settings.get('') ?? DEFAULT_SETTINGS;
}

/** Creates a store in memory. */
export function createMemoryStore(): Store {
  const files = new UploadFiles();
  return { ...createTables(() => undefined), files, durable: () => Promise.resolve(), close: () => files.close() };
}

/**
 * The file of changes: a JSON array in each line, made durable by one fsync. Changes that arrive during a write share the
 * next line. After a failed write nothing more is written, because memory is then ahead of the disk.
 */
function createJournal(file: FileHandle) {
  let waiting: Change[] = [];
  let writing: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  const write = (): Promise<void> => {
    const line = `${JSON.stringify(waiting)}\n`;
    waiting = [];
    next = undefined;
    writing = file.appendFile(line).then(() => file.datasync());
    return writing;
  };
  return {
    record: (change: Change): void => void waiting.push(change),
    durable(): Promise<void> {
      if (waiting.length === 0) return writing;
      next ??= writing.then(write);
      return next;
    },
  };
}

/** Reads the changes of a journal, and cuts off a last line that a crash has torn: nothing in it was acknowledged. */
async function recoverChanges(path: string): Promise<Change[]> {
  const bytes = await readFile(path).catch((error: unknown) => {
    if (hasErrorCode(error, 'ENOENT')) return Buffer.alloc(0);
    throw error;
  });
  const changes: Change[] = [];
  let start = 0;
  for (let number = 1; start < bytes.length; number += 1) {
    const end = bytes.indexOf('\n', start);
    try {
      if (end === -1) throw new SyntaxError('It has no end.');
      for (const change of JSON.parse(bytes.toString('utf8', start, end))) changes.push(change);
    } catch {
      if (end !== -1 && end + 1 < bytes.length) throw new Error(`line ${number} is damaged and is not the last one`);
      await truncate(path, start);
      break;
    }
    start = end + 1;
  }
  return changes;
}

function restore(tables: Readonly<{ [name: string]: { restore(change: Change): void } }>, changes: readonly Change[]) {
  for (const change of changes) {
    const table = Array.isArray(change) ? tables[change[0]] : undefined;
    if (!table) throw new Error('it was written by another version');
    table.restore(change);
  }
}

/**
 * Opens the store of a data directory, and creates the directory if it is missing.
 * @throws Error when another running sandbox uses the directory, it holds only other files, or its journal is damaged
 */
export async function openStore(dataDir: string): Promise<Store> {
  const directory = resolve(dataDir);
  const release = await claimDirectory(directory);
  const path = join(directory, JOURNAL_FILE);
  try {
    const changes = await recoverChanges(path);
    const file = await open(path, 'a', 0o600);
    const journal = createJournal(file);
    const tables = createTables(journal.record);
    restore(tables, changes);
    const files = new UploadFiles(directory);
    await files.removeUnrecorded((id) => tables.uploads.get(id) !== undefined);
    const close = () => journal.durable().finally(() => file.close().finally(release));
    return { ...tables, files, durable: journal.durable, close };
  } catch (cause) {
    await release();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`Cannot open the sandbox's journal ${path}: ${reason}.`, { cause });
  }
}
