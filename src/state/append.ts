import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode, explained, notRegularFile, recordTooLong, shortWrite } from './file-error.ts';
import { encodeRecord, MAX_LINE_BYTES, type NewRecord } from './record.ts';

// Without O_NONBLOCK, opening a pipe would wait for its other end.
const { O_APPEND, O_CREAT, O_NONBLOCK = 0, O_RDONLY, O_WRONLY } = constants;

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
    if (errorCode(error) === 'EIO' || errorCode(error) === 'ENOSPC') throw error;
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
