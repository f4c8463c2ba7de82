import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../contract/json.ts';
import { InputError, LocalError, NotFoundError, UsageError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import type { Environment } from '../platform/io.ts';
import { shellQuote } from '../platform/text.ts';
import type { StateLocation } from './location.ts';
import { decode, encode, type LogRecord } from './record.ts';
import { type OnceKind, Standings } from './standing.ts';

/** Lines of a log, from the first that may have changed since they were last loaded. */
export interface LoadedLines {
  /** The number of lines before them, which are as they were. */
  readonly from: number;
  readonly lines: readonly string[];
}

/** Where lines are kept: a file, a table, a branch of a repository. All readers must see the same ones in one order. */
export interface LogDriver {
  /** The name in messages: the path of the file, or the address without a password. */
  readonly label: string;
  /** How many reservations are worth one write: few, because a killed process leaves them open, or one slow push. */
  readonly batch: number;
  /** Returns what was added since the last call, in order; undefined if there is no file or branch yet. @throws LocalError */
  load(): Promise<LoadedLines | undefined>;
  /**
   * Resolves once the lines are durable, in this order; others may stand between them. A repeat is harmless.
   * @throws LocalError; the log may still hold some of the lines
   */
  write(lines: readonly string[]): Promise<void>;
  /** Creates what is missing. @returns the SQL that gives other users access, if any is needed @throws LocalError */
  prepare(): Promise<string | undefined>;
  /** Checks that records can be read and written. Writes nothing. @throws LocalError */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** What a store other than a file needs. */
export interface StoreDeps {
  readonly location: StateLocation;
  readonly env: Environment;
  readonly clock: Clock;
  readonly random: () => number;
  /** What all output must not show. */
  readonly redactor: { add(secret: string): void; redact(text: string): string };
  readonly warn: (text: string) => Promise<void>;
  /** Ends every wait. */
  readonly signal: AbortSignal;
}

/** A line that stops every write: it may be the record of something that exists. */
export interface DamagedLine {
  readonly line: number;
  readonly why: string;
}

/** Who writes a record. Decides nothing: it is for people. */
export type Author = {
  /** Null if the user id has no name, as often in containers. */
  readonly user: string | null;
  readonly host: string;
  readonly pid: number;
  /** In CI, the address of the run, and the commit that it checked out. */
  readonly run?: string | undefined;
  readonly commit?: string | undefined;
  /** The id of the plan that is carried out. */
  readonly plan?: string | undefined;
};

export interface LogDeps {
  readonly driver: LogDriver;
  readonly author: Author;
  readonly clock: { now(): number };
  /** Replaces the secrets in a text; returns a text without secrets unchanged. */
  readonly redact: (text: string) => string;
  /** Whether a state that does not exist is refused where one is about to be used, not begun. */
  readonly mustExist?: boolean;
  /** Called after the first record of a state that did not exist. */
  readonly onBegin?: (label: string) => Promise<void>;
  /** Ends what reads at once: nothing depends on it any more. Records can still be written for some time. */
  readonly interrupt?: AbortSignal | undefined;
  /** Ends what the driver still waits for. */
  readonly end?: () => void;
}

/** Waits for a promise, or until a signal aborts. @throws the reason of the signal */
function untilAborted<Value>(promise: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

export const REPAIR_HINT =
  'In a merge conflict, remove only the conflict markers. After a newer version wrote a line, update partnerctl. Else restore the line from a backup or from git. See: partnerctl help state';

/** Refuses a text of this machine's records. @param redact replaces the secrets in a text @throws InputError for one */
export function refuseSecret(text: string, redact: (text: string) => string): void {
  if (redact(text) === text) return;
  throw new InputError('A secret would be written to the state.', {
    why: 'A name or an id in this command contains the token, or another secret.',
    hint: 'Use a name or an id without it.',
  });
}

/** What was read of a log so far. Line numbers start at 1, as in editors. */
export class LogContent {
  /** False if there is no file or branch yet. */
  exists = false;
  /** Without repeats of earlier records, which a repeated write or a merge of two copies leaves. */
  readonly records: { readonly line: number; readonly record: LogRecord }[] = [];
  /** The lines that a killed writer left. They count for nothing. */
  torn: number[] = [];
  damaged: DamagedLine[] = [];
  /** The number of lines that change only if the log is replaced. */
  settled = 0;
  private readonly ids = new Set<string>();

  add({ from, lines }: LoadedLines): void {
    this.exists = true;
    // The last line had no end yet.
    this.torn = this.torn.filter((line) => line <= from);
    this.damaged = this.damaged.filter(({ line }) => line <= from);
    this.settled = Math.max(from, from + lines.length - 1);
    for (const [index, text] of lines.entries()) {
      if (text === '') continue;
      const line = from + index + 1;
      const decoded = decode(text);
      if (decoded.kind === 'torn') this.torn.push(line);
      else if (decoded.kind === 'damaged') this.damaged.push({ line, why: decoded.why });
      else if (!this.ids.has(decoded.record.id)) {
        this.ids.add(decoded.record.id);
        this.records.push({ line, record: decoded.record });
      }
    }
  }
}

/** An append-only log of records. Records that are appended during a write share the next one. */
export class Log {
  private readonly deps: LogDeps;
  private author: Author;
  private content = new LogContent();
  private reading: Promise<unknown> = Promise.resolve();
  private waiting: string[] = [];
  private writing: Promise<void> = Promise.resolve();
  /** The write that has not started yet. */
  private next: Promise<void> | undefined;

  constructor(deps: LogDeps) {
    this.deps = deps;
    this.author = deps.author;
  }

  /** Names the plan in the records that follow. */
  setPlan(plan: string): void {
    this.author = { ...this.author, plan };
  }

  get label(): string {
    return this.deps.driver.label;
  }

  /** Makes a record of this process. `append` writes it. */
  newRecord(type: string, fields: JsonObject): LogRecord {
    const at = new Date(this.deps.clock.now()).toISOString();
    return { type, at, id: randomUUID(), ...fields, by: this.author };
  }

  /** How many reservations are worth one append. */
  get batch(): number {
    return this.deps.driver.batch;
  }

  /** Reads what was added. @throws LocalError if the log cannot be reached */
  inspect(): Promise<LogContent> {
    const mine = this.reading.then(async () => {
      const loaded = await untilAborted(this.deps.driver.load(), this.deps.interrupt);
      if (!loaded || loaded.from < this.content.settled) this.content = new LogContent();
      if (loaded) this.content.add(loaded);
      return this.content;
    });
    this.reading = mine.catch(() => undefined);
    return mine;
  }

  describe({ line, why }: DamagedLine): string {
    return `${this.label}:${line} cannot be used: ${why}`;
  }

  /**
   * Reads the records, in order.
   * @throws LocalError if the log cannot be reached, or if a line is damaged; UsageError if it must exist, and does not
   */
  async read(): Promise<readonly LogRecord[]> {
    const { records } = await this.inspectIntact();
    return records.map(({ record }) => record);
  }

  /** Returns what reads the log, and tells what it says about a feature. @throws as `read` and `Standings.add` */
  follow<Data>(kind: OnceKind<Data>): () => Promise<Standings<Data>> {
    let [standings, of, count] = [new Standings(kind), this.content, 0];
    return async () => {
      const content = await this.inspectIntact();
      if (content !== of) [standings, of, count] = [new Standings(kind), content, 0];
      standings.add(content.records.slice(count).map(({ record }) => record));
      count = content.records.length;
      return standings;
    };
  }

  /** Resolves once the records are durable. @throws InputError for a secret in one; LocalError as `LogDriver.write` */
  async append(records: readonly LogRecord[]): Promise<void> {
    const lines = records.map(encode);
    this.refuseSecrets(lines);
    if (lines.length > 0) await this.write(lines);
  }

  /** Appends the records that only another log has, unchanged and in order. @throws NotFoundError if there is none */
  async copyFrom(other: Log): Promise<{ readonly copied: number; readonly present: number }> {
    const { exists } = await other.inspect();
    if (!exists) throw new NotFoundError(`There is no state at ${other.label}.`, { hint: 'Check the address.' });
    const { records } = await other.inspectIntact();
    const known = new Set((await this.read()).map(({ id }) => id));
    const missing = records.filter(({ record }) => !known.has(record.id));
    if (missing.length > 0) await this.write(missing.map(({ record }) => encode(record)));
    return { copied: missing.length, present: records.length - missing.length };
  }

  /** Refuses texts that are or will be in records, before anything is sent. @throws InputError if one holds a secret */
  refuseSecrets(texts: readonly string[]): void {
    for (const text of texts) refuseSecret(text, this.deps.redact);
  }

  /** See `LogDriver`. */
  prepare(): Promise<string | undefined> {
    return untilAborted(this.deps.driver.prepare(), this.deps.interrupt);
  }

  /** See `LogDriver`. */
  check(): Promise<void> {
    return untilAborted(this.deps.driver.check(), this.deps.interrupt);
  }

  /** Waits for the writes that have started, and closes all connections. */
  async close(): Promise<void> {
    await (this.next ?? this.writing).catch(() => undefined);
    this.deps.end?.();
    await this.deps.driver.close();
  }

  private async inspectIntact(): Promise<LogContent> {
    const content = await this.inspect();
    if (!content.exists && this.deps.mustExist) {
      throw new UsageError(`The state does not exist: ${this.label}`, {
        why: 'In CI, a missing branch is not created: with a wrong address, what exists would be created again.',
        hint: `Check the address. To begin a new state: partnerctl state init ${shellQuote(this.label)}`,
      });
    }
    const [first] = content.damaged;
    if (!first) return content;
    throw new LocalError(`${this.describe(first)}.`, {
      why: 'It may be the record of something that exists, so nothing is created until it is repaired.',
      hint: `${REPAIR_HINT}\nTo check: partnerctl state verify`,
      details: { path: this.label, ...first },
    });
  }

  private write(lines: readonly string[]): Promise<void> {
    this.waiting = this.waiting.concat(lines);
    this.next ??= this.writing.then(async () => {
      const batch = this.waiting;
      this.waiting = [];
      this.next = undefined;
      const isNew = !this.content.exists;
      await this.deps.driver.write(batch);
      this.content.exists = true;
      if (isNew) await this.deps.onBegin?.(this.label);
    });
    const mine = this.next;
    this.writing = mine.catch(() => undefined);
    return mine;
  }
}
