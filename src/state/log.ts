import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { explained, notRegularFile, recordTooLong, shortWrite } from './failure.ts';
import { beginning, blocksOf, type Line, linesOf, type Place } from './lines.ts';
import { decodeLine, encodeRecord, type LogRecord, MAX_LINE_BYTES, type NewRecord } from './record.ts';

/** What a line of the file holds. `line` counts from 1, as editors do. */
export type LogEntry =
  | { readonly kind: 'record'; readonly line: number; readonly record: LogRecord }
  /** The same record as on an earlier line, as a merge of two copies leaves it. It counts once. */
  | { readonly kind: 'duplicate'; readonly line: number }
  /** A sound record in a format that a later version of this program writes. */
  | { readonly kind: 'newer'; readonly line: number; readonly version: number }
  | { readonly kind: 'damaged'; readonly line: number; readonly why: string };

export interface ReadOptions {
  /**
   * Only lines that contain one of these texts (see `fieldText`) are read; the others cost next to nothing.
   * Lines that do not even begin and end like a record are still reported as damaged, but damage in the midst
   * of a skipped line is not seen.
   */
  readonly containing?: readonly string[];
  /** Waits until a record that is being written is there; 2 ms by default. */
  readonly written?: () => Promise<void>;
}

// Without O_NONBLOCK, opening a pipe would wait for its other end.
const { O_APPEND, O_CREAT, O_NONBLOCK = 0, O_RDONLY, O_WRONLY } = constants;

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** Syncs a directory, so that the names in it survive a power cut. Where a system cannot, there is nothing to do. */
async function syncDirectory(path: string): Promise<void> {
  try {
    const directory = await open(path, O_RDONLY);
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  } catch (error) {
    if (codeOf(error) === 'EIO' || codeOf(error) === 'ENOSPC') throw error;
  }
}

/**
 * Makes a directory and those above it that are missing. (The recursive mode of `mkdir` reports a read-only file
 * system as a missing one.)
 * @returns the directories that were made, outermost first.
 */
async function makeDirectories(path: string): Promise<readonly string[]> {
  try {
    await mkdir(path, 0o700);
    return [path];
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return [];
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
  }
  const above = await makeDirectories(dirname(path));
  try {
    await mkdir(path, 0o700);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  return [...above, path];
}

async function openToAppend(path: string): Promise<{ file: FileHandle; made: readonly string[] }> {
  const flags = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK;
  try {
    return { file: await open(path, flags, 0o600), made: [] };
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  const made = await makeDirectories(dirname(path));
  return { file: await open(path, flags, 0o600), made };
}

/** Opens a regular file to append to it, with its name on disk. */
async function openNamed(path: string): Promise<FileHandle> {
  const { file, made } = await openToAppend(path);
  try {
    const status = await file.stat();
    if (!status.isFile()) throw notRegularFile(path, 'written');
    // An empty file may be new, made by this process or by one that has not synced its name yet.
    if (status.size === 0) {
      for (const entry of [...made, await realpath(path)]) await syncDirectory(dirname(entry));
    }
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Makes sure that records can be appended, as far as that can be known before there is one: the file and its directory
 * are made when missing.
 * @throws LocalError when none can be
 */
export async function prepareLog(path: string): Promise<void> {
  try {
    const file = await openNamed(path);
    await file.close();
  } catch (error) {
    throw await explained(error, path, 'written');
  }
}

/** The one write. It is not repeated when it falls short: a second one could land behind another process's record. */
async function writeOnce(file: FileHandle, path: string, bytes: Buffer): Promise<void> {
  const { bytesWritten } = await file.write(bytes, 0, bytes.length, null);
  if (bytesWritten !== bytes.length) throw shortWrite(path, bytesWritten, bytes.length);
}

/**
 * Appends one record to the log and resolves once it is on disk. The file and its directory are made when missing
 * (0600, 0700); a symbolic link is followed; nothing that is in the file is ever changed.
 * Any number of processes may append at once.
 * @throws LocalError when it cannot be written. The record is then to be taken as not recorded.
 */
export async function appendRecord<Fields extends NewRecord>(path: string, record: Fields): Promise<void> {
  // The newline in front ends whatever torn line a killed writer may have left.
  const bytes = Buffer.from(`\n${encodeRecord(record)}\n`);
  if (bytes.length - 2 > MAX_LINE_BYTES) throw recordTooLong(path, bytes.length - 2, MAX_LINE_BYTES);
  try {
    const file = await openNamed(path);
    try {
      await writeOnce(file, path, bytes);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    throw await explained(error, path, 'written');
  }
}

async function openToRead(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, O_RDONLY | O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** How far a log was read, and the checksums of what was found there. */
interface Progress {
  /** Whether a damaged last line without its end is passed over, as one that is being written. */
  readonly isPatient: boolean;
  /** Whether that was done. */
  passedOver: boolean;
  /** Which file it was. */
  inode: number | undefined;
  place: Place;
  seen: Set<string>;
}

function fromTheBeginning() {
  return { inode: undefined, place: beginning(), seen: new Set<string>(), passedOver: false };
}

function entryOf({ line, bytes }: Line, seen: Set<string>): LogEntry {
  const decoded = decodeLine(bytes);
  if (decoded.kind === 'damaged') return { kind: 'damaged', line, why: decoded.why };
  if (seen.has(decoded.sum)) return { kind: 'duplicate', line };
  seen.add(decoded.sum);
  if (decoded.kind === 'newer') return { kind: 'newer', line, version: decoded.version };
  return { kind: 'record', line, record: decoded.record };
}

/** The one write of a record is seen half done only for a moment. */
const WRITTEN_WITHIN_MS = 2;

async function writtenSoon(): Promise<void> {
  await setTimeout(WRITTEN_WITHIN_MS);
}

async function* entriesOf(
  file: FileHandle,
  containing: readonly string[] | undefined,
  progress: Progress,
): AsyncGenerator<LogEntry> {
  for await (const block of blocksOf(file, MAX_LINE_BYTES + '\r'.length, progress.place)) {
    if (block.kind === 'tooLong') {
      yield { kind: 'damaged', line: block.line, why: `longer than ${MAX_LINE_BYTES} bytes` };
      continue;
    }
    for (const line of linesOf(block, containing)) {
      const entry = entryOf(line, progress.seen);
      progress.passedOver = entry.kind === 'damaged' && block.isOpen && progress.isPatient;
      if (!progress.passedOver) yield entry;
    }
  }
}

/**
 * Reads the log in its order, a block at a time. A missing file is an empty log. Damage never ends the reading:
 * it is reported where it is, and everything sound around it is read. CRLF line ends are accepted.
 * @throws LocalError when the file is there and cannot be read.
 */
export async function* readLog(path: string, options: ReadOptions = {}): AsyncGenerator<LogEntry, void, void> {
  yield* readSettled(path, options, { ...fromTheBeginning(), isPatient: true });
}

/** As `readOn`, and looks again at a damaged last line without its end. */
async function* readSettled(
  path: string,
  options: ReadOptions,
  progress: Progress,
): AsyncGenerator<LogEntry, void, void> {
  yield* readOn(path, options, progress);
  if (!progress.passedOver) return;
  await (options.written ?? writtenSoon)();
  yield* readOn(path, options, { ...progress, isPatient: false });
}

/**
 * Reads a log as `readLog` does, and, when it is called again, only what came since: a damaged last line is told of then once
 * it has its end, as it may be one that is being written. Another file in its place, or one that has become shorter, is read
 * from its beginning.
 */
export function logReader(path: string, options: ReadOptions = {}): () => AsyncGenerator<LogEntry, void, void> {
  const progress = { ...fromTheBeginning(), isPatient: true };
  let isFirst = true;
  return () => {
    const read = isFirst ? readSettled : readOn;
    isFirst = false;
    return read(path, options, progress);
  };
}

async function* readOn(
  path: string,
  { containing }: ReadOptions,
  progress: Progress,
): AsyncGenerator<LogEntry, void, void> {
  try {
    const file = await openToRead(path);
    if (file === undefined) return;
    try {
      const status = await file.stat();
      if (!status.isFile() && !status.isDirectory()) throw notRegularFile(path, 'read');
      const isOther = status.ino !== progress.inode || status.size < progress.place.offset;
      if (isOther) Object.assign(progress, fromTheBeginning(), { inode: status.ino });
      if (status.isFile() && status.size === progress.place.offset) return;
      yield* entriesOf(file, containing, progress);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw await explained(error, path, 'read');
  }
}
