import { randomUUID } from 'node:crypto';
import { chmod, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { errorCode } from '../errors.ts';

/**
 * Writes a file at once: whoever reads it meanwhile reads the old text or the new one. Replaces the file that a symbolic link
 * points to, not the link, and keeps the mode.
 * @param newMode of a file that does not exist yet
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
    // The umask does not apply to a mode that was chosen before.
    if (mode !== undefined) await chmod(temporary, mode);
    await file.sync();
    await file.close();
    await rename(temporary, target);
  } finally {
    await file.close();
    await rm(temporary, { force: true });
  }
}
