import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

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
