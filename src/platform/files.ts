import { promises } from 'node:fs';
import { dirname } from 'node:path';
import { errorCode } from './error-code.ts';

async function makeDirectory(path: string): Promise<void> {
  try {
    await promises.mkdir(path, 0o700);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST' || !(await promises.stat(path)).isDirectory()) throw error;
  }
}

/**
 * Creates a directory and its missing parents with mode 0700. `mkdir` with `recursive` reports a read-only file system
 * as a missing directory, and never returns on a file system that cannot have new directories, such as /proc.
 */
export async function makeDirectories(path: string): Promise<void> {
  try {
    await makeDirectory(path);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT' || dirname(path) === path) throw error;
    await makeDirectories(dirname(path));
    await makeDirectory(path);
  }
}
