import { randomUUID } from 'node:crypto';
import { chmod, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { errorCode } from '../errors.ts';

/**
 * Replaces a file atomically: a reader sees the old text or the new one. Replaces the target of a symbolic link, not the link.
 * Keeps the mode.
 * @param newMode the mode if the file does not exist yet
 * @throws Error of the file system
 */
export async function replaceFile(path: string, text: string | Buffer, newMode: number): Promise<void> {
  const target = await realpath(path).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return path;
    throw error;
  });
  const mode = await stat(target).then(
    (stats) => stats.mode & 0o7777,
    () => undefined,
  );
  const temporary = `${target}.tmp-${randomUUID()}`;
  const file = await open(temporary, 'wx', newMode);
  try {
    await file.writeFile(text);
    // Unlike `open`, chmod ignores the umask.
    if (mode !== undefined) await chmod(temporary, mode);
    await file.sync();
    await file.close();
    await rename(temporary, target);
  } finally {
    await file.close();
    await rm(temporary, { force: true });
  }
}
