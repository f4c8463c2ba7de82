import { LocalError } from '../errors.ts';
import type { Line, LineFilter } from './line-reader.ts';
import { decodeLine, type LogRecord, lineDigest, type NewRecord } from './record.ts';

/** The content of one log line. Line numbers start at 1, as in editors. */
export type LogEntry =
  | { readonly kind: 'record'; readonly line: number; readonly record: LogRecord }
  /** A repeat of an earlier record, left by merging two copies of the file. Readers ignore it. */
  | { readonly kind: 'duplicate'; readonly line: number }
  /** An intact record in the format of a newer version of this program. */
  | { readonly kind: 'newer'; readonly line: number; readonly version: number; readonly bytes: Buffer }
  /** `bytes` is undefined if the line is too long to keep. */
  | {
      readonly kind: 'damaged';
      readonly line: number;
      readonly why: string;
      readonly bytes: Buffer | undefined;
      readonly digest: string;
    };

/** `restart`: another file has replaced the log, and is read from its beginning. */
export type StoreEntry = LogEntry | { readonly kind: 'restart' };

/** What a record does to a reservation. A store may publish the ends of several together. */
export type RecordRole =
  | { readonly kind: 'reserves'; readonly reservation: string }
  | { readonly kind: 'ends'; readonly reservation: string }
  /** Lets an object be created again. */
  | { readonly kind: 'voids' }
  | { readonly kind: 'other' };

/**
 * Whether a record that cannot be published is kept for the next command. Not a reservation, which has no effect then; nor a
 * decision to void records, because its command failed, and it must not take effect later.
 */
export function isKept({ kind }: RecordRole): boolean {
  return kind !== 'reserves' && kind !== 'voids';
}

/** An append-only log of records that all readers see in the same order. */
export interface RecordStore {
  /**
   * Yields the entries added since the last call; on the first call, all entries.
   * @throws LocalError if the read fails
   */
  readNew(): AsyncIterable<StoreEntry>;
  /** Resolves once the record is durable. @throws LocalError; the log may still contain the record */
  append(record: NewRecord, role: RecordRole): Promise<void>;
}

/** Yields all entries of a store, from the beginning. @throws LocalError if the read fails */
export async function* readStore(store: StateStore): AsyncGenerator<LogEntry> {
  for await (const entry of store.open().readNew()) if (entry.kind !== 'restart') yield entry;
}

/** Records that are read along with those of a ledger. */
export interface ObservedRecords {
  /** Selects the lines that are not needed. */
  readonly isSkipped: LineFilter;
  observe(entry: StoreEntry): void;
}

/** Passes each entry that is read to `observe`, too. */
export function observeReads(store: RecordStore, observe: (entry: StoreEntry) => Promise<void>): RecordStore {
  return {
    append: (record, role) => store.append(record, role),
    async *readNew() {
      for await (const entry of store.readNew()) {
        await observe(entry);
        yield entry;
      }
    },
  };
}

/** The beginning of each record, of any version. */
const RECORD_START = '{"v":';

/**
 * Checks that a store is empty, or has a record or what is left of one.
 * @throws LocalError if it has other content, or if the read fails
 */
export async function refuseOtherContent(store: StateStore): Promise<void> {
  let lines = 0;
  for await (const entry of readStore(store)) {
    if (entry.kind !== 'damaged' || entry.bytes?.toString('latin1').startsWith(RECORD_START)) return;
    lines += 1;
  }
  if (lines === 0) return;
  throw new LocalError(`This is not a state: ${store.label}`, {
    why: `It has ${lines} ${lines === 1 ? 'line' : 'lines'}, and no record.`,
    hint: 'Nothing was changed. Check the address, or name another place.',
  });
}

/** Where records are kept: a file, a table of a database, or a branch of a git repository. */
export interface StateStore {
  /** The name of the store in messages: the path of the file, or the address without a password. */
  readonly label: string;
  /** How many objects to reserve together at least. High if publishing takes long. */
  readonly reservationsAtOnce: number;
  /** Returns a reader and writer of this store that starts at the beginning of the log. */
  open(options?: ReadOptions): RecordStore;
  /** Runs one of several concurrent tasks that append records. The store may delay publishing until each task waits. */
  together<Value>(act: () => Promise<Value>): Promise<Value>;
  /** Appends intact lines of another store unchanged. @throws LocalError; the log may contain some of them */
  appendLines(lines: readonly string[]): Promise<void>;
  /**
   * Creates the file, the table, or the branch, if it is missing.
   * @returns the SQL with which the owner grants access to another user; undefined if none is needed
   * @throws LocalError
   */
  init(): Promise<string | undefined>;
  /** Whether the file or the branch exists. @throws LocalError if it cannot be read */
  exists(): Promise<boolean>;
  /** Checks that records can be appended. @throws LocalError */
  check(): Promise<void>;
  /** Publishes waiting records, and closes all connections. */
  close(): Promise<void>;
}

/** Simulates another machine. */
export interface OtherMachine {
  /** For the local files of that machine. */
  readonly directory: string;
  /** The endpoint to connect to in place of the database, if any. */
  readonly via: { readonly host: string; readonly port: number } | undefined;
}

/** Which lines of a log to decode. */
export interface ReadOptions {
  /**
   * Decodes only lines that contain one of these texts (see `fieldText`); skipping the others is nearly free. Lines
   * that do not start and end like a record are still reported as damaged, but damage inside a skipped line goes
   * unnoticed.
   */
  readonly containing?: readonly string[] | undefined;
  /** Skips raw lines. */
  readonly isSkipped?: LineFilter;
  /** Waits for another process to finish writing a record; 2 ms by default. */
  readonly written?: () => Promise<void>;
}

/**
 * Decodes a line of a log.
 * @param sums the checksums of earlier records; that of this one is added
 */
export function entryOf({ line, bytes }: Line, sums: Set<string>): LogEntry {
  const decoded = decodeLine(bytes);
  if (decoded.kind === 'damaged') {
    return { kind: 'damaged', line, why: decoded.why, bytes: Buffer.from(bytes), digest: lineDigest(bytes) };
  }
  if (sums.has(decoded.sum)) return { kind: 'duplicate', line };
  sums.add(decoded.sum);
  if (decoded.kind === 'newer') return { kind: 'newer', line, version: decoded.version, bytes: Buffer.from(bytes) };
  return { kind: 'record', line, record: decoded.record };
}
