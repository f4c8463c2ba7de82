import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { errorCode } from '../errors.ts';
import { encodeLine, type Redact } from './append.ts';
import { explainFileError, notRegularFileError } from './file-error.ts';
import { HeldFile, type OpenedFile } from './held-file.ts';
import {
  type ByteSource,
  contentSource,
  type FilePosition,
  readBlocks,
  splitLines,
  startOfFile,
} from './line-reader.ts';
import { LogWriter } from './log-writer.ts';
import { ensureWritable } from './open-durably.ts';
import { MAX_LINE_BYTES } from './record.ts';
import { findStateFile } from './state-file.ts';
import { entryOf, type LogEntry, type ReadOptions, type StateStore, type StoreEntry } from './store.ts';

// Without O_NONBLOCK, opening a pipe would wait for a writer.
const { O_NONBLOCK = 0, O_RDONLY } = constants;

async function openToRead(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, O_RDONLY | O_NONBLOCK);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** How many bytes before the cursor are remembered, to detect that another file has replaced the log. */
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

async function bytesBefore(source: ByteSource, offset: number): Promise<Buffer> {
  const length = Math.min(offset, REMEMBERED_BYTES);
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await source.read(buffer, 0, length, offset - length);
  return buffer.subarray(0, bytesRead);
}

/** The longest part of a log that is read at once. */
const MAX_TAIL_BYTES = 256 * 1024;

/** Reads the end of a log at once: what is new, and the bytes before it. Returns the file itself if that is too much. */
async function openTail({ file, status }: OpenedFile, { offset }: FilePosition): Promise<ByteSource> {
  const start = Math.max(0, offset - REMEMBERED_BYTES);
  const length = status.size - start;
  if (!status.isFile() || offset === 0 || length < 0 || length > MAX_TAIL_BYTES) return file;
  const bytes = Buffer.allocUnsafe(length);
  const { bytesRead } = await file.read(bytes, 0, length, start);
  return contentSource(bytes.subarray(0, bytesRead), start);
}

/** Whether this is still the file of the cursor. */
async function isSameFile(source: ByteSource, { ino }: { readonly ino: number }, cursor: Cursor): Promise<boolean> {
  return ino === cursor.inode && (await bytesBefore(source, cursor.place.offset)).equals(cursor.before);
}

/**
 * Yields the entries of a file after the cursor.
 * @param isPatient whether to skip a damaged last line without a line ending, which a process may still be writing
 * @returns whether such a line was skipped
 */
async function* entriesOf(
  file: ByteSource,
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

/** A log that is being read. */
interface OpenLog {
  readonly path: string;
  readonly options: ReadOptions;
  readonly file: HeldFile;
  readonly cursor: Cursor;
}

async function* readFromCursor(
  { path, options, file, cursor }: OpenLog,
  isPatient: boolean,
): AsyncGenerator<StoreEntry, boolean> {
  try {
    const opened = await file.use();
    if (opened === undefined) return false;
    const { status } = opened;
    if (!status.isFile() && !status.isDirectory()) throw notRegularFileError(path, 'read');
    let source = await openTail(opened, cursor.place);
    if (status.isFile() && !(await isSameFile(source, status, cursor))) {
      if (cursor.inode !== undefined) yield { kind: 'restart' };
      Object.assign(cursor, newCursor(status.ino));
      source = opened.file;
    }
    if (status.isFile() && status.size === cursor.place.offset) return false;
    const skippedLastLine = yield* entriesOf(source, options, cursor, isPatient);
    cursor.before = await bytesBefore(source, cursor.place.offset);
    return skippedLastLine;
  } catch (error) {
    throw await explainFileError(error, path, 'read');
  } finally {
    file.rest();
  }
}

/** Waits for another process to complete a record. Each record is one write, so this takes little time. */
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
function logReader(path: string, options: ReadOptions, file: HeldFile): () => AsyncGenerator<StoreEntry, void, void> {
  const log: OpenLog = { path, options, file, cursor: newCursor() };
  let isFirst = true;
  return async function* readNew() {
    const wasFirst = isFirst;
    isFirst = false;
    const skippedLastLine = yield* readFromCursor(log, true);
    if (!skippedLastLine || !wasFirst) return;
    await (options.written ?? waitForWrite)();
    yield* readFromCursor(log, false);
  };
}

function heldToRead(path: string): HeldFile {
  return new HeldFile(path, () => openToRead(path));
}

/** Reads the whole log once. @throws LocalError if the file exists but cannot be read */
export async function* readLog(path: string, options: ReadOptions = {}): AsyncGenerator<LogEntry, void, void> {
  const file = heldToRead(path);
  try {
    for await (const entry of logReader(path, options, file)()) if (entry.kind !== 'restart') yield entry;
  } finally {
    await file.close();
  }
}

/** Returns the log in a local file. @param redact replaces secrets; a record that contains one is refused */
export function fileStore(path: string, redact?: Redact): StateStore {
  const writer = new LogWriter(path);
  const readers: HeldFile[] = [];
  return {
    label: path,
    reservationsAtOnce: 1,
    together: (act) => act(),
    open(options = {}) {
      const file = heldToRead(path);
      readers.push(file);
      return {
        readNew: logReader(path, options, file),
        append: async (record) => writer.append([encodeLine(record, path, redact)]),
      };
    },
    appendLines: (lines) => writer.append(lines),
    async init() {
      await ensureWritable(path);
      return undefined;
    },
    exists: async () => (await findStateFile(path)) !== undefined,
    check: () => ensureWritable(path),
    async close() {
      for (const file of [writer, ...readers]) await file.close();
    },
  };
}
