// `node:fs/promises` would be loaded at each start, which takes more than a millisecond.
import { promises } from 'node:fs';
import { dirname } from 'node:path';
import { errorCode } from '../errors.ts';

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
