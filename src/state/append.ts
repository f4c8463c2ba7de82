import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode, explainFileError, notRegularFileError, recordTooLongError, shortWriteError } from './file-error.ts';
import { encodeRecord, MAX_LINE_BYTES, type NewRecord } from './record.ts';

// Without O_NONBLOCK, opening a pipe would wait for its other end.
const { O_APPEND, O_CREAT, O_NONBLOCK = 0, O_RDONLY, O_WRONLY } = constants;

/** Syncs a directory, so that the names in it survive a power failure. Systems that cannot sync directories are ignored. */
async function syncDirectory(path: string): Promise<void> {
  try {
    const directory = await open(path, O_RDONLY);
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  } catch (error) {
    if (errorCode(error) === 'EIO' || errorCode(error) === 'ENOSPC') throw error;
  }
}

/**
 * Creates a directory and its missing parents. (The recursive mode of `mkdir` reports a read-only file system as a missing
 * directory.)
 * @returns the directories that were created, outermost first
 */
async function makeDirectories(path: string): Promise<readonly string[]> {
  try {
    await mkdir(path, 0o700);
    return [path];
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return [];
    if (errorCode(error) !== 'ENOENT' || dirname(path) === path) throw error;
  }
  const above = await makeDirectories(dirname(path));
  try {
    await mkdir(path, 0o700);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  }
  return [...above, path];
}

async function openToAppend(path: string): Promise<{ file: FileHandle; made: readonly string[] }> {
  const flags = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK;
  try {
    return { file: await open(path, flags, 0o600), made: [] };
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
  const made = await makeDirectories(dirname(path));
  return { file: await open(path, flags, 0o600), made };
}

/** Opens a regular file to append to it, and makes sure that its directory entry is on disk. */
async function openDurably(path: string): Promise<FileHandle> {
  const { file, made } = await openToAppend(path);
  try {
    const status = await file.stat();
    if (!status.isFile()) throw notRegularFileError(path, 'written');
    // An empty file may have been created just now, by this process or by one that has not synced the directory yet.
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
 * Makes sure that records can be appended, as far as that can be known without appending one. Creates the file and its
 * directory when missing.
 * @throws LocalError when they cannot
 */
export async function ensureWritable(path: string): Promise<void> {
  try {
    const file = await openDurably(path);
    await file.close();
  } catch (error) {
    throw await explainFileError(error, path, 'written');
  }
}

/** Writes once. A short write is not continued: the rest could land after another process's record. */
async function writeOnce(file: FileHandle, path: string, bytes: Buffer): Promise<void> {
  const { bytesWritten } = await file.write(bytes, 0, bytes.length, null);
  if (bytesWritten !== bytes.length) throw shortWriteError(path, bytesWritten, bytes.length);
}

/**
 * Appends one record to the log and resolves once it is on disk. Creates the file (0600) and its directory (0700) when
 * missing, follows a symbolic link, and never changes what is in the file. Any number of processes may append at once.
 * @throws LocalError when it cannot be written; part or all of the record may be in the file all the same
 */
export async function appendRecord<Fields extends NewRecord>(path: string, record: Fields): Promise<void> {
  // The leading newline ends a torn line that a killed writer may have left.
  const bytes = Buffer.from(`\n${encodeRecord(record)}\n`);
  if (bytes.length - 2 > MAX_LINE_BYTES) throw recordTooLongError(path, bytes.length - 2, MAX_LINE_BYTES);
  try {
    const file = await openDurably(path);
    try {
      await writeOnce(file, path, bytes);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    throw await explainFileError(error, path, 'written');
  }
}
