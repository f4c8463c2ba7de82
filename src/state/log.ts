import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { appendRecord } from './append.ts';
import { errorCode, explainFileError, notRegularFileError } from './file-error.ts';
import { type FilePosition, type Line, readBlocks, splitLines, startOfFile } from './lines.ts';
import { decodeLine, type LogRecord, MAX_LINE_BYTES, type NewRecord } from './record.ts';

/** What a line of the log holds. Lines are numbered from 1, as in editors. */
export type LogEntry =
  | { readonly kind: 'record'; readonly line: number; readonly record: LogRecord }
  /** The same record as on an earlier line, as merging two copies leaves it. It counts once. */
  | { readonly kind: 'duplicate'; readonly line: number }
  /** An intact record in a format of a newer version of this program. */
  | { readonly kind: 'newer'; readonly line: number; readonly version: number; readonly text: string }
  | { readonly kind: 'damaged'; readonly line: number; readonly why: string };

/** `restart`: another log has taken the place of this one, and is read from its beginning. */
export type StoreEntry = LogEntry | { readonly kind: 'restart' };

/** An append-only log of records with one order that all its readers see. */
export interface RecordStore {
  /** What was appended since the last call; at first, everything. @throws LocalError when the log cannot be read */
  readNew(): AsyncIterable<StoreEntry>;
  /** Resolves once the record is durable. @throws LocalError; the record may be in the log all the same */
  append(record: NewRecord): Promise<void>;
}

/** A line of the log that cannot be used, for a warning. */
export interface UnusableLine {
  readonly line: number;
  readonly why: string;
}

/** What there is to say about an entry that is neither a record nor the repeat of one; undefined for those. */
export function unusableLine(entry: StoreEntry): UnusableLine | undefined {
  if (entry.kind === 'damaged') return { line: entry.line, why: entry.why };
  if (entry.kind !== 'newer') return undefined;
  return { line: entry.line, why: `written by a newer version of this program (format ${entry.version})` };
}

export interface ReadOptions {
  /**
   * Only lines that contain one of these texts (see `fieldText`) are decoded; the others cost next to nothing. Lines that do
   * not start and end like a record are still reported as damaged, but damage inside a skipped line is not seen.
   */
  readonly containing?: readonly string[] | undefined;
  /** Waits for a record that is being written; 2 ms by default. */
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

/** How many bytes before a cursor are remembered, to notice that another file has taken the log's place. */
const REMEMBERED_BYTES = 64;

/** How far a log has been read. */
interface Cursor {
  inode: number | undefined;
  /** The bytes just before `place`. */
  before: Buffer;
  place: FilePosition;
  /** The checksums read so far. */
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

/** Whether the file still begins with what was read of it. */
async function isSameFile(file: FileHandle, { ino }: { readonly ino: number }, cursor: Cursor): Promise<boolean> {
  return ino === cursor.inode && (await bytesBefore(file, cursor.place.offset)).equals(cursor.before);
}

function entryOf({ line, bytes }: Line, sums: Set<string>): LogEntry {
  const decoded = decodeLine(bytes);
  if (decoded.kind === 'damaged') return { kind: 'damaged', line, why: decoded.why };
  if (sums.has(decoded.sum)) return { kind: 'duplicate', line };
  sums.add(decoded.sum);
  if (decoded.kind === 'newer') return { kind: 'newer', line, version: decoded.version, text: bytes.toString() };
  return { kind: 'record', line, record: decoded.record };
}

/**
 * Yields the entries of a file from a cursor on.
 * @param isPatient whether a damaged last line without its end is left out, as one that is still being written
 * @returns whether one was left out
 */
async function* entriesOf(
  file: FileHandle,
  containing: readonly string[] | undefined,
  cursor: Cursor,
  isPatient: boolean,
): AsyncGenerator<LogEntry, boolean> {
  for await (const block of readBlocks(file, MAX_LINE_BYTES + '\r'.length, cursor.place)) {
    if (block.kind === 'tooLong') {
      yield { kind: 'damaged', line: block.line, why: `longer than ${MAX_LINE_BYTES} bytes` };
      continue;
    }
    for (const line of splitLines(block, containing)) {
      const entry = entryOf(line, cursor.sums);
      if (entry.kind === 'damaged' && block.isOpen && isPatient) return true;
      yield entry;
    }
  }
  return false;
}

async function* readFromCursor(
  path: string,
  { containing }: ReadOptions,
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
      const wasLeftOut = yield* entriesOf(file, containing, cursor, isPatient);
      cursor.before = await bytesBefore(file, cursor.place.offset);
      return wasLeftOut;
    } finally {
      await file.close();
    }
  } catch (error) {
    throw await explainFileError(error, path, 'read');
  }
}

/** The one write of a record is seen half done only for a moment. */
async function waitForWrite(): Promise<void> {
  await setTimeout(2);
}

/**
 * Makes a function that reads a log in its order, a block at a time, and on each further call only what was appended since.
 * A missing file is an empty log. Damage never ends the reading: it is reported where it is, and everything sound around it
 * is read. CRLF line ends are accepted. A damaged last line that is still without its end is looked at again after a moment,
 * and from the second call on reported once it has its end.
 * @throws LocalError when the file is there and cannot be read
 */
function logReader(path: string, options: ReadOptions): () => AsyncGenerator<StoreEntry, void, void> {
  const cursor = newCursor();
  let isFirst = true;
  return async function* readNew() {
    const wasFirst = isFirst;
    isFirst = false;
    const wasLeftOut = yield* readFromCursor(path, options, cursor, true);
    if (!wasLeftOut || !wasFirst) return;
    await (options.written ?? waitForWrite)();
    yield* readFromCursor(path, options, cursor, false);
  };
}

/** Reads the whole log once. @throws LocalError when the file is there and cannot be read */
export async function* readLog(path: string, options: ReadOptions = {}): AsyncGenerator<LogEntry, void, void> {
  for await (const entry of logReader(path, options)()) if (entry.kind !== 'restart') yield entry;
}

/** The log as a file on this machine. */
export function fileStore(path: string, options: ReadOptions = {}): RecordStore {
  return { readNew: logReader(path, options), append: (record) => appendRecord(path, record) };
}
