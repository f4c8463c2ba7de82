import { randomUUID } from 'node:crypto';
import { open, readdir, realpath, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { describeFileError } from '../cli/input.ts';
import type { Clock } from '../clock.ts';
import { LocalError } from '../errors.ts';
import { makeDirectories } from '../make-directories.ts';
import { errorCode, type Profiles, profilesPath, readProfiles } from './profiles.ts';

/** A change of the profiles. Must be pure: it is repeated when another process changes the profiles meanwhile. */
export type ProfilesChange = (profiles: Profiles) => Profiles;

interface RetryDeps {
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

const MAX_ATTEMPTS = 100;
/** The longest pause before the second and before any later attempt, in milliseconds. */
const FIRST_PAUSE_MS = 10;
const MAX_PAUSE_MS = 500;

/** Removes the temporary files of other processes, running or killed. Earlier versions used the same prefix. */
async function removeOthers(path: string, own: string): Promise<void> {
  const names = await readdir(dirname(path));
  const others = names.filter((name) => name.startsWith(`${basename(path)}.tmp-`) && name !== basename(own));
  for (const name of others) await rm(join(dirname(path), name), { force: true });
}

/**
 * Changes the profiles unless another process starts to do so before the end.
 * @returns undefined if one did; nothing was changed then
 */
async function tryUpdate(directory: string, change: ProfilesChange): Promise<Profiles | undefined> {
  const named = profilesPath(directory);
  // Replaces the file that a symbolic link points to, not the link.
  const path = await realpath(named).catch(() => named);
  const temporary = `${path}.tmp-${randomUUID()}`;
  const file = await open(temporary, 'wx', 0o600);
  try {
    // Before the profiles are read: who read them earlier cannot replace them any more.
    await removeOthers(path, temporary);
    const changed = change(await readProfiles(directory));
    await file.writeFile(`${JSON.stringify(changed, null, '\t')}\n`);
    await file.sync();
    await file.close();
    await rename(temporary, path);
    // Otherwise, a process that is about to start over could leave a copy of what was just removed.
    await removeOthers(path, temporary);
    return changed;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  } finally {
    await file.close();
    await rm(temporary, { force: true });
  }
}

/**
 * Changes the profiles file atomically and without a lock. Only its owner can read the file.
 *
 * Every process creates a temporary file, removes those of all others, and only then reads the profiles. The rename at the
 * end fails if the temporary file was removed. So of two processes that overlap, the one that looked first loses its
 * temporary file and starts over: no change is lost, and a token is in no file once its removal has returned.
 * @returns the profiles after the change
 * @throws what `change` throws; LocalError if the file cannot be written; the signal's reason between two attempts
 */
export async function updateProfiles(
  directory: string,
  change: ProfilesChange,
  { clock, random, signal }: RetryDeps,
): Promise<Profiles> {
  const failed = (why: string, cause?: unknown): LocalError =>
    new LocalError(`The profiles in ${directory} cannot be written.`, { why, cause });
  const fail = (error: unknown): never => {
    throw errorCode(error) === undefined ? error : failed(describeFileError(error), error);
  };
  await makeDirectories(directory).catch(fail);
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    if (attempt > 0) await clock.sleep(random() * Math.min(FIRST_PAUSE_MS * 2 ** attempt, MAX_PAUSE_MS), signal);
    const changed = await tryUpdate(directory, change).catch(fail);
    if (changed) return changed;
  }
  throw failed('Other processes keep changing them.');
}
