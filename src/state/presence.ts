import { constants } from 'node:fs';
import { access, lstat, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { explained, notRegularFile } from './file-error.ts';

// Without O_NONBLOCK, opening a pipe would wait for its other end.
const { O_NONBLOCK = 0, O_RDONLY, W_OK, X_OK } = constants;

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

/** Whether there is anything under that name, a link that leads nowhere included. */
export async function isTaken(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether there is a state file, and how large it is in bytes; undefined where there is none yet.
 * @throws LocalError where something is there that cannot be read as one: a directory, a pipe, a file without the
 * permission, a link that leads nowhere
 */
export async function findStateFile(path: string): Promise<{ readonly bytes: number } | undefined> {
  try {
    const file = await open(path, O_RDONLY | O_NONBLOCK);
    try {
      const status = await file.stat();
      // Only reading says in the system's own words that a directory is in its place.
      if (status.isDirectory()) await file.read(Buffer.alloc(1));
      if (!status.isFile()) throw notRegularFile(path, 'read');
      return { bytes: status.size };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isMissing(error) && !(await isTaken(path))) return undefined;
    throw await explained(error, path, 'read');
  }
}

async function mayUse(path: string, mode: number): Promise<boolean> {
  try {
    await access(path, mode);
    return true;
  } catch {
    return false;
  }
}

/** Whether files could be made in the directory, or in the nearest one above that exists. */
async function isMakeable(directory: string): Promise<boolean> {
  try {
    return (await stat(directory)).isDirectory() && (await mayUse(directory, W_OK | X_OK));
  } catch (error) {
    return isMissing(error) && dirname(directory) !== directory && isMakeable(dirname(directory));
  }
}

/**
 * Whether records can probably be written there, as far as permissions tell; nothing is written or made.
 * @param exists whether there is a file, as `findStateFile` says
 */
export async function isWritable(path: string, exists: boolean): Promise<boolean> {
  return exists ? mayUse(path, W_OK) : isMakeable(dirname(path));
}
