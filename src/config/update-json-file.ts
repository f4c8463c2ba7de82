import { randomUUID } from 'node:crypto';
import { open, readdir, realpath, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../clock.ts';
import { describeFileError, errorCode, LocalError } from '../errors.ts';
import { makeDirectories } from './make-directories.ts';

/** What an update needs to wait for other processes. */
export interface UpdateDeps {
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** A JSON file that several processes may change. */
export interface SharedFile<Content> {
  readonly path: string;
  /** For messages: `The profiles in /home/anna/.config/partnerctl`. */
  readonly name: string;
  read(): Promise<Content>;
  /** Returns what to write as JSON. */
  format(content: Content): unknown;
}

const MAX_ATTEMPTS = 100;
/** The maximum pause before an attempt doubles from the first value up to the second, in milliseconds. */
const FIRST_PAUSE_MS = 10;
const MAX_PAUSE_MS = 500;

/** Removes the temporary files of other processes, running or killed, including those of earlier versions. */
async function removeOthers(path: string, own: string): Promise<void> {
  const names = await readdir(dirname(path));
  const others = names.filter((name) => name.startsWith(`${basename(path)}.tmp-`) && name !== basename(own));
  for (const name of others) await rm(join(dirname(path), name), { force: true });
}

/**
 * Changes a file, unless another process starts to change it meanwhile.
 * @returns undefined if another process did; nothing was changed
 */
async function tryUpdate<Content>(
  file: SharedFile<Content>,
  change: (content: Content) => Content,
): Promise<Content | undefined> {
  // Replace the target of a symbolic link, not the link.
  const path = await realpath(file.path).catch(() => file.path);
  const temporary = `${path}.tmp-${randomUUID()}`;
  const handle = await open(temporary, 'wx', 0o600);
  try {
    // Do this before reading, so that a process that read the file earlier can no longer replace it.
    await removeOthers(path, temporary);
    const changed = change(await file.read());
    await handle.writeFile(`${JSON.stringify(file.format(changed), null, '\t')}\n`);
    await handle.sync();
    await handle.close();
    await rename(temporary, path);
    // A process that is about to start over could leave a copy of what this change removed.
    await removeOthers(path, temporary);
    return changed;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  } finally {
    await handle.close();
    await rm(temporary, { force: true });
  }
}

/**
 * Changes a file atomically and without a lock. Only its owner can read it.
 *
 * Every process creates a temporary file, removes those of all others, and only then reads the file. The final rename fails if
 * the temporary file was removed. So if two processes overlap, the one that removed files first loses its own and starts over:
 * no change is lost, and a removed secret is in no file once the removal has returned.
 * @param change must be pure: it is repeated when another process changes the file meanwhile
 * @returns the content after the change
 * @throws what `change` throws; LocalError if the file cannot be written; the signal's reason between two attempts
 */
export async function updateJsonFile<Content>(
  file: SharedFile<Content>,
  change: (content: Content) => Content,
  { clock, random, signal }: UpdateDeps,
): Promise<Content> {
  const failed = (why: string, cause?: unknown): LocalError =>
    new LocalError(`${file.name} cannot be written.`, { why, cause });
  const fail = (error: unknown): never => {
    throw errorCode(error) === undefined ? error : failed(describeFileError(error), error);
  };
  await makeDirectories(dirname(file.path)).catch(fail);
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    if (attempt > 0) await clock.sleep(random() * Math.min(FIRST_PAUSE_MS * 2 ** attempt, MAX_PAUSE_MS), signal);
    const changed = await tryUpdate(file, change).catch(fail);
    if (changed) return changed;
  }
  throw failed('Other processes keep changing it.');
}
