import { promises } from 'node:fs';
import { dirname } from 'node:path';
import { errorCode } from './error-code.ts';

/** @returns whether it was created; it may exist */
async function makeDirectory(path: string): Promise<boolean> {
  try {
    await promises.mkdir(path, 0o700);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Creates a directory and its missing parents with mode 0700. `mkdir` with `recursive` reports a read-only file system as a
 * missing directory, and never returns on a file system that cannot have new directories, such as /proc.
 * @returns the directories that were created, outermost first
 */
export async function makeDirectories(path: string): Promise<readonly string[]> {
  try {
    return (await makeDirectory(path)) ? [path] : [];
  } catch (error) {
    if (errorCode(error) !== 'ENOENT' || dirname(path) === path) throw error;
    const above = await makeDirectories(dirname(path));
    return (await makeDirectory(path)) ? [...above, path] : above;
  }
}
