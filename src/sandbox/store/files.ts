import { randomBytes } from 'node:crypto';
import { chmod, mkdir, open, readdir, readFile, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export const PRIVATE_FILE = 0o600;
export const PRIVATE_DIRECTORY = 0o700;

const TEMPORARY = /\.[0-9a-f]{12}\.tmp$/;

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

/** The file's bytes, or undefined when there is no such file. */
export async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** The names in a directory; none when there is no such directory. */
export async function namesIn(path: string): Promise<readonly string[]> {
  try {
    return await readdir(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}

/** Makes sure that a new or renamed file's name outlives a crash. */
export async function syncDirectory(path: string): Promise<void> {
  // Windows cannot open a directory for syncing, and does not need it.
  if (process.platform === 'win32') return;
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** Puts a file in place whole or not at all, readable by its owner alone, on disk when this resolves. */
export async function replaceFile(path: string, content: Iterable<string>): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  const file = await open(temporary, 'wx', PRIVATE_FILE);
  try {
    try {
      for (const part of content) await file.appendFile(part);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
  await syncDirectory(dirname(path));
}

/**
 * Makes a directory and those above it that are missing, for the owner alone. (The recursive mode of `mkdir` never ends
 * where nothing can be made, below /proc for one.)
 * @returns the directories that were made, outermost first.
 */
async function makeDirectories(path: string): Promise<readonly string[]> {
  try {
    await mkdir(path, PRIVATE_DIRECTORY);
    return [path];
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return [];
    if (!hasCode(error, 'ENOENT') || dirname(path) === path) throw error;
  }
  const above = await makeDirectories(dirname(path));
  // The directory above is there now; what still fails is not for want of it.
  await mkdir(path, PRIVATE_DIRECTORY);
  return [...above, path];
}

/**
 * Makes a directory for the owner alone, or takes one that is there.
 * @param isOwn whether a file of that name is ours.
 * @throws Error for a directory that holds nothing but other things: its mode and content are not ours to change.
 */
export async function ownDirectory(path: string, isOwn: (name: string) => boolean): Promise<void> {
  const made = await makeDirectories(path);
  for (const directory of made) await syncDirectory(dirname(directory));
  if (made.length > 0) return;
  const names = await readdir(path);
  if (names.length > 0 && !names.some(isOwn)) {
    throw new Error(`The data directory ${path} is not empty and holds no sandbox data.`);
  }
  await chmod(path, PRIVATE_DIRECTORY);
}

/** Removes what a crash in the middle of `replaceFile` left behind. Nobody else may be writing to the directory. */
export async function sweep(directory: string, isOwn: (name: string) => boolean): Promise<void> {
  for (const name of await readdir(directory)) {
    if (isOwn(name) && TEMPORARY.test(name)) await unlink(join(directory, name));
  }
}
