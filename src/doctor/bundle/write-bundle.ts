import { randomUUID } from 'node:crypto';
import { lstat, open, rename, rm } from 'node:fs/promises';
import { describeFileError, errorCode, LocalError, UsageError } from '../../errors.ts';
import { stringifyJson } from '../../output/formats/stringify-json.ts';
import type { BundleLine } from './build-bundle.ts';

function refuseExisting(path: string): never {
  throw new UsageError(`${path} already exists.`, {
    hint: 'Name another file for --bundle, or add --force to replace it. Nothing was sent.',
  });
}

/**
 * Checks that a bundle may be written. Call it before sending any request.
 * @throws UsageError if the file exists and may not be replaced, or if it is a directory, a link, or a device
 */
export async function refuseOverwriting(path: string, isForced: boolean): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined) return;
  if (!found.isFile()) {
    const what = found.isDirectory() ? 'a directory' : 'not a regular file';
    throw new UsageError(`${path} is ${what}.`, { hint: 'Name a file for --bundle. Nothing was sent.' });
  }
  if (!isForced) refuseExisting(path);
}

async function writeLines(path: string, lines: readonly BundleLine[]): Promise<number> {
  const file = await open(path, 'wx', 0o600);
  try {
    let size = 0;
    for (const line of lines) size += (await file.write(`${stringifyJson(line)}\n`)).bytesWritten;
    await file.sync();
    return size;
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/**
 * Writes a bundle that only its owner can read, completely or not at all.
 * @param isForced whether to replace an existing file
 * @returns its size in bytes
 * @throws UsageError if the file exists, LocalError if it cannot be written
 */
export async function writeBundle(path: string, lines: readonly BundleLine[], isForced: boolean): Promise<number> {
  try {
    if (!isForced) return await writeLines(path, lines);
    const temporary = `${path}.tmp-${randomUUID()}`;
    const size = await writeLines(temporary, lines);
    await rename(temporary, path).catch(async (error) => {
      await rm(temporary, { force: true });
      throw error;
    });
    return size;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') refuseExisting(path);
    throw new LocalError(`The bundle cannot be written to ${path}.`, { why: describeFileError(error), cause: error });
  }
}
