import { randomBytes } from 'node:crypto';
import { type FileHandle, mkdir, open, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import * as v from 'valibot';
import type { Token } from './access.ts';
import type { Message, PlannedReply } from './chat.ts';
import type { CronJob } from './cron.ts';
import { integer, oneOf } from './input.ts';
import type { Script } from './script.ts';
import type { Agent, ChatSource, Space } from './spaces.ts';
import type { Upload } from './uploads.ts';
import type { Delivery, Webhook } from './webhooks.ts';

/** The largest page of a list, and the largest `page_size` that a request may ask for. */
export const MAX_PAGE_SIZE = 1_000;

const rateLimit = v.strictObject({
  requests: v.pipe(v.number(), v.integer(), v.minValue(1)),
  per_seconds: v.pipe(v.number(), v.minValue(0.001), v.maxValue(86_400)),
});

/** The templates of a sandbox, unless its settings name others. */
export const TEMPLATES = ['tmpl_support', 'tmpl_sales', 'tmpl_onboarding', 'tmpl_billing'];

export const settingsSchema = v.strictObject({
  balance_usd: v.optional(v.pipe(v.number(), v.finite()), 100),
  rate_limit: v.optional(v.nullable(rateLimit), null),
  page_size: v.optional(integer(1, MAX_PAGE_SIZE), 100),
  /** Whether a repeated provisioning reuses an agent of the same name and template, or installs another. */
  agents_on_repeat: v.optional(oneOf('reuse', 'install'), 'reuse'),
  /** The ids of the templates that can be installed. */
  templates: v.optional(v.array(v.string()), TEMPLATES),
});

export type Settings = v.InferOutput<typeof settingsSchema>;

/** What a line of the journal has for each change: a row that was put, or the id of one that was removed. */
type Change = readonly [table: string, id: string, row?: unknown];

/** Rows in the order of creation. */
class Table<Row extends object> {
  readonly #rows = new Map<string, Row>();
  readonly #groups = new Map<string, Map<string, Row>>();
  readonly #record: (id: string, row?: Row) => void;
  readonly #id: keyof Row | undefined;
  readonly #group: readonly (keyof Row)[];

  /**
   * @param record gets each change
   * @param id the field that identifies a row; none in a table of one row
   * @param group the fields that `in` finds rows by
   */
  constructor(record: (id: string, row?: Row) => void, id: keyof Row | undefined, group: readonly (keyof Row)[]) {
    this.#record = record;
    this.#id = id;
    this.#group = group;
  }

  get(id = ''): Row | undefined {
    return this.#rows.get(id);
  }

  all(): Row[] {
    return [...this.#rows.values()];
  }

  /** The rows of a group, such as the agents of a space. */
  in(...group: readonly string[]): Row[] {
    return [...(this.#groups.get(JSON.stringify(group))?.values() ?? [])];
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
    const changed = row ?? this.get(id);
    if (changed === undefined) return;
    const key = JSON.stringify(this.#group.map((field) => changed[field]));
    const group = this.#groups.get(key) ?? new Map<string, Row>();
    this.#groups.set(key, group);
    for (const rows of [this.#rows, group]) row === undefined ? rows.delete(id) : rows.set(id, row);
  }
}

function createTables(record: (change: Change) => void) {
  const table = <Row extends object>(name: string, id?: keyof Row, ...group: readonly (keyof Row)[]): Table<Row> =>
    new Table((...change) => record([name, ...change]), id, group);
  return {
    tokens: table<Token>('tokens', 'token'),
    spaces: table<Space>('spaces', 'space_id', 'external_space_id'),
    agents: table<Agent>('agents', 'agent_id', 'space_id'),
    sources: table<ChatSource>('sources', 'source_id', 'agent_id'),
    messages: table<Message>('messages', 'message_id', 'source_id', 'session_id'),
    replies: table<PlannedReply>('replies', 'message_id'),
    cronJobs: table<CronJob>('cronJobs', 'cron_job_id'),
    uploads: table<Upload>('uploads', 'upload_id', 'as'),
    deliveries: table<Delivery>('deliveries', 'delivery_id'),
    settings: table<Settings>('settings'),
    /** Frozen at a time, or ahead of the machine's clock by an offset; in milliseconds. */
    clock: table<{ readonly frozen_at: number | null; readonly offset_ms: number }>('clock'),
    script: table<{ readonly rules: Script }>('script'),
    webhook: table<Webhook>('webhook'),
    /** The key of the admin API, and a token with every scope. The next start has them, too. */
    secrets: table<{ readonly adminKey: string; readonly token: string }>('secrets'),
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

/** Creates an identifier: the prefix, an underscore, and 80 random bits in hexadecimal. */
export function createId(prefix: string): string {
  return `${prefix}_${randomBytes(10).toString('hex')}`;
}

/** Whether the process in a pid file may still use the directory. */
function isAlive(owner: string): boolean {
  const [pid = 0, startedAt] = owner.split(' ').map(Number);
  // In a container every run has the same process id.
  if (pid === process.pid) return startedAt === performance.timeOrigin;
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** Takes over the claim of a process that no longer runs. @returns a function that releases the claim */
async function claimDirectory(directory: string): Promise<() => Promise<void>> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, 'sandbox.pid');
  if (isAlive(await readFile(path, 'utf8').catch(() => ''))) {
    const hint = `If no sandbox is running there, delete ${path}.`;
    throw new Error(`The data directory ${directory} is in use by another sandbox. ${hint}`);
  }
  await rm(path, { force: true });
  await writeFile(path, `${process.pid} ${performance.timeOrigin}`, { flag: 'wx', mode: 0o600 });
  return () => rm(path, { force: true });
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
