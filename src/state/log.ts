import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { appendRecord, type Redact } from './append.ts';
import { errorCode, explainFileError, notRegularFileError } from './file-error.ts';
import { type FilePosition, type Line, type LineCheck, readBlocks, splitLines, startOfFile } from './lines.ts';
import { decodeLine, type LogRecord, lineDigest, MAX_LINE_BYTES, type NewRecord } from './record.ts';

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

/** An append-only log of records that all readers see in the same order. */
export interface RecordStore {
  /**
   * Yields the entries added since the last call; on the first call, all entries.
   * @throws LocalError if the read fails
   */
  readNew(): AsyncIterable<StoreEntry>;
  /** Resolves once the record is durable. @throws LocalError; the log may still contain the record */
  append(record: NewRecord): Promise<void>;
}

/** An unusable log line, for a warning. */
export interface UnusableLine {
  readonly line: number;
  readonly why: string;
}

/** Describes an entry that is damaged or written by a newer version; undefined for any other entry. */
export function unusableLine(entry: StoreEntry): UnusableLine | undefined {
  if (entry.kind === 'damaged') return { line: entry.line, why: entry.why };
  if (entry.kind !== 'newer') return undefined;
  return { line: entry.line, why: `written by a newer version of this program (format ${entry.version})` };
}

/**
 * Returns a function that warns about an unusable line, once per line.
 * @param warned the numbers of the lines that the user was already warned about
 */
export function lineWarner(
  path: string,
  warn: (text: string) => Promise<void>,
  warned = new Set<number>(),
): (line: UnusableLine) => Promise<void> {
  return async ({ line, why }) => {
    if (warned.has(line)) return;
    warned.add(line);
    await warn(`${path}:${line} cannot be used: ${why}`);
  };
}

export interface ReadOptions {
  /**
   * Decodes only lines that contain one of these texts (see `fieldText`); skipping the others is nearly free. Lines
   * that do not start and end like a record are still reported as damaged, but damage inside a skipped line goes
   * unnoticed.
   */
  readonly containing?: readonly string[] | undefined;
  /** Whether a raw line need not be decoded. */
  readonly isSkipped?: LineCheck;
  /** Waits for another process to finish writing a record; 2 ms by default. */
  readonly written?: () => Promise<void>;
}

// Without O_NONBLOCK, opening a pipe would wait for its other end.
const { O_NONBLOCK = 0, O_RDONLY } = constants;

async function openToRead(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, O_RDONLY | O_NONBLOCK);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** The number of bytes before the cursor to remember, to detect that another file has replaced the log. */
const REMEMBERED_BYTES = 64;

/** How far a log has been read. */
interface Cursor {
  inode: number | undefined;
  /** The bytes just before `place`. */
  before: Buffer;
  place: FilePosition;
  /** The checksums of the records read so far. */
  sums: Set<string>;
}

function newCursor(inode?: number): Cursor {
  return { inode, before: Buffer.alloc(0), place: startOfFile(), sums: new Set() };
}

async function bytesBefore(file: FileHandle, offset: number): Promise<Buffer> {
  const length = Math.min(offset, REMEMBERED_BYTES);
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await file.read(buffer, 0, length, offset - length);
  return buffer.subarray(0, bytesRead);
}

/** Whether this is still the file that the cursor points into. */
async function isSameFile(file: FileHandle, { ino }: { readonly ino: number }, cursor: Cursor): Promise<boolean> {
  return ino === cursor.inode && (await bytesBefore(file, cursor.place.offset)).equals(cursor.before);
}

function entryOf({ line, bytes }: Line, sums: Set<string>): LogEntry {
  const decoded = decodeLine(bytes);
  if (decoded.kind === 'damaged') {
    return { kind: 'damaged', line, why: decoded.why, bytes: Buffer.from(bytes), digest: lineDigest(bytes) };
  }
  if (sums.has(decoded.sum)) return { kind: 'duplicate', line };
  sums.add(decoded.sum);
  if (decoded.kind === 'newer') return { kind: 'newer', line, version: decoded.version, bytes: Buffer.from(bytes) };
  return { kind: 'record', line, record: decoded.record };
}

/**
 * Yields the entries of a file from the cursor on.
 * @param isPatient whether to skip a damaged last line without a line ending, because it may still be being written
 * @returns whether such a line was skipped
 */
async function* entriesOf(
  file: FileHandle,
  { containing, isSkipped }: ReadOptions,
  cursor: Cursor,
  isPatient: boolean,
): AsyncGenerator<LogEntry, boolean> {
  for await (const block of readBlocks(file, MAX_LINE_BYTES + '\r'.length, cursor.place)) {
    if (block.kind === 'tooLong') {
      const { line, sha256 } = block;
      yield { kind: 'damaged', line, why: `longer than ${MAX_LINE_BYTES} bytes`, bytes: undefined, digest: sha256 };
      continue;
    }
    for (const line of splitLines(block, containing, isSkipped)) {
      const entry = entryOf(line, cursor.sums);
      if (entry.kind === 'damaged' && block.isOpen && isPatient) return true;
      yield entry;
    }
  }
  return false;
}

async function* readFromCursor(
  path: string,
  options: ReadOptions,
  cursor: Cursor,
  isPatient: boolean,
): AsyncGenerator<StoreEntry, boolean> {
  try {
    const file = await openToRead(path);
    if (file === undefined) return false;
    try {
      const status = await file.stat();
      if (!status.isFile() && !status.isDirectory()) throw notRegularFileError(path, 'read');
      if (status.isFile() && !(await isSameFile(file, status, cursor))) {
        if (cursor.inode !== undefined) yield { kind: 'restart' };
        Object.assign(cursor, newCursor(status.ino));
      }
      if (status.isFile() && status.size === cursor.place.offset) return false;
      const skippedLastLine = yield* entriesOf(file, options, cursor, isPatient);
      cursor.before = await bytesBefore(file, cursor.place.offset);
      return skippedLastLine;
    } finally {
      await file.close();
    }
  } catch (error) {
    throw await explainFileError(error, path, 'read');
  }
}

/** Each record is one write, so it is only briefly visible as incomplete. */
async function waitForWrite(): Promise<void> {
  await setTimeout(2);
}

/**
 * Returns a function that reads the log in order, one block at a time. Each further call reads only the new entries. A
 * missing file counts as an empty log. Damaged lines are reported, and reading continues after them. CRLF line endings
 * are accepted. On the first call, a damaged last line without a line ending is read again after a short wait and then
 * reported; on later calls, it is reported only once it has a line ending.
 * @throws LocalError if the file exists but cannot be read
 */
function logReader(path: string, options: ReadOptions): () => AsyncGenerator<StoreEntry, void, void> {
  const cursor = newCursor();
  let isFirst = true;
  return async function* readNew() {
    const wasFirst = isFirst;
    isFirst = false;
    const skippedLastLine = yield* readFromCursor(path, options, cursor, true);
    if (!skippedLastLine || !wasFirst) return;
    await (options.written ?? waitForWrite)();
    yield* readFromCursor(path, options, cursor, false);
  };
}

/** Reads the whole log once. @throws LocalError if the file exists but cannot be read */
export async function* readLog(path: string, options: ReadOptions = {}): AsyncGenerator<LogEntry, void, void> {
  for await (const entry of logReader(path, options)()) if (entry.kind !== 'restart') yield entry;
}

interface FileStoreOptions extends ReadOptions {
  /** Replaces secrets; a record that contains one is refused. */
  readonly redact?: Redact;
}

/** Returns a log that is stored in a local file. */
export function fileStore(path: string, options: FileStoreOptions = {}): RecordStore {
  return { readNew: logReader(path, options), append: (record) => appendRecord(path, record, options.redact) };
}
