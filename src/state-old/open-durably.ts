import { constants } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeDirectories } from '../config/make-directories.ts';
import { errorCode } from '../errors.ts';
import { explainFileError, notRegularFileError } from './file-error.ts';

// Without O_NONBLOCK, opening a pipe would wait for a reader.
const { O_APPEND, O_CREAT, O_NONBLOCK = 0, O_RDONLY, O_WRONLY } = constants;

/** Syncs a directory, so that new files in it survive a power failure. Ignores systems that cannot sync directories. */
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

async function openToAppend(path: string): Promise<{ file: FileHandle; created: readonly string[] }> {
  const flags = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK;
  try {
    return { file: await open(path, flags, 0o600), created: [] };
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
  const created = await makeDirectories(dirname(path));
  return { file: await open(path, flags, 0o600), created };
}

/**
 * Opens a regular file for appending, and ensures that its directory entry is on disk. Creates the file (0600) and its
 * directory (0700) if they are missing.
 * @throws LocalError if it is not a regular file; system errors
 */
export async function openDurably(path: string): Promise<FileHandle> {
  const { file, created } = await openToAppend(path);
  try {
    const status = await file.stat();
    if (!status.isFile()) throw notRegularFileError(path, 'written');
    // If the file is empty, the process that created it may not have synced the directory yet.
    if (status.size === 0) {
      for (const entry of [...created, await realpath(path)]) await syncDirectory(dirname(entry));
    }
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Checks that the file can be opened for appending. Creates the file and its directory if they are missing.
 * @throws LocalError if the file cannot be opened or created
 */
export async function ensureWritable(path: string): Promise<void> {
  try {
    const file = await openDurably(path);
    await file.close();
  } catch (error) {
    throw await explainFileError(error, path, 'written');
  }
}
