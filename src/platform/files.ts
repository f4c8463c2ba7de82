// `node:fs/promises` would be loaded at each start, which takes more than a millisecond.
import { closeSync, constants, fstatSync, openSync, promises, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { errorCode } from './error-code.ts';

/**
 * Reads a small file. Not in a thread: starting the first one takes longer than reading it.
 * @throws as `openSync`; Error if it is not a regular file
 */
export function readRegularFile(path: string): string {
  // Without O_NONBLOCK, opening a pipe waits for its writer.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    if (!fstatSync(file).isFile()) throw new Error('it is not a regular file');
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}

/**
 * Creates a directory and its missing parents with mode 0700. `mkdir` with `recursive` reports a read-only file system as a
 * missing directory, and never returns on a file system that cannot have new directories, such as /proc.
 * @returns the directories that were created, outermost first
 */
export async function makeDirectories(path: string): Promise<readonly string[]> {
  try {
    await promises.mkdir(path, 0o700);
    return [path];
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return [];
    if (errorCode(error) !== 'ENOENT' || dirname(path) === path) throw error;
  }
  const above = await makeDirectories(dirname(path));
  try {
    await promises.mkdir(path, 0o700);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  }
  return [...above, path];
}
