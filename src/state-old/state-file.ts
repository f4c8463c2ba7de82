import { constants } from 'node:fs';
import { access, lstat, open, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from '../errors.ts';
import { explainFileError, notRegularFileError } from './file-error.ts';

// Without O_NONBLOCK, opening a pipe would wait for a writer.
const { O_NONBLOCK = 0, O_RDONLY, W_OK, X_OK } = constants;

/** Whether the path exists; a broken symbolic link counts. */
export async function isPathTaken(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the size of the state file in bytes; undefined if it does not exist.
 * @throws LocalError if the path is a directory, a pipe, a broken link, or the like, or if the file cannot be read
 */
export async function findStateFile(path: string): Promise<{ readonly bytes: number } | undefined> {
  try {
    const file = await open(path, O_RDONLY | O_NONBLOCK);
    try {
      const status = await file.stat();
      // Reading a directory throws EISDIR, which `explainFileError` explains.
      if (status.isDirectory()) await file.read(Buffer.alloc(1));
      if (!status.isFile()) throw notRegularFileError(path, 'read');
      return { bytes: status.size };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (errorCode(error) === 'ENOENT' && !(await isPathTaken(path))) return undefined;
    throw await explainFileError(error, path, 'read');
  }
}

async function canAccess(path: string, mode: number): Promise<boolean> {
  try {
    await access(path, mode);
    return true;
  } catch {
    return false;
  }
}

/** Whether files can be created in the directory, or in its nearest parent that exists. */
async function isCreatable(directory: string): Promise<boolean> {
  try {
    return (await stat(directory)).isDirectory() && (await canAccess(directory, W_OK | X_OK));
  } catch (error) {
    return errorCode(error) === 'ENOENT' && dirname(directory) !== directory && isCreatable(dirname(directory));
  }
}

/** Whether the disk has no space for others than the administrator. Unknown counts as no. */
async function isDiskFull(path: string): Promise<boolean> {
  try {
    const { blocks, bavail } = await statfs(path);
    return blocks > 0 && bavail === 0;
  } catch {
    return false;
  }
}

/**
 * Whether permissions and the disk allow writing records. Writes nothing.
 * @param exists whether the file exists (see `findStateFile`)
 */
export async function isWritable(path: string, exists: boolean): Promise<boolean> {
  if (await isDiskFull(exists ? path : dirname(path))) return false;
  return exists ? canAccess(path, W_OK) : isCreatable(dirname(path));
}
