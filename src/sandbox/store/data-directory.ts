import { randomBytes } from 'node:crypto';
import { chmod, link, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export const JOURNAL_FILE = 'journal.jsonl';
export const UPLOADS_DIRECTORY = 'sandbox-uploads';
const KEY_FILE = 'admin-key';
const TOKEN_FILE = 'partner-token';
const OWNER_FILE = 'sandbox.pid';

const OWN_NAMES = [JOURNAL_FILE, UPLOADS_DIRECTORY, KEY_FILE, TOKEN_FILE, OWNER_FILE];

/** Whether an error has this system error code. */
export function hasErrorCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

/**
 * Creates a directory and its missing parents, for their owner only. `mkdir` with `recursive` never returns on a file
 * system without new directories, such as /proc.
 */
export async function makeDirectories(path: string): Promise<void> {
  try {
    await mkdir(path, 0o700);
  } catch (error) {
    if (hasErrorCode(error, 'EEXIST')) return;
    if (!hasErrorCode(error, 'ENOENT') || dirname(path) === path) throw error;
    await makeDirectories(dirname(path));
    await mkdir(path, 0o700);
  }
}

/**
 * Creates a data directory that only its owner can access, or reuses an existing one.
 * @throws Error when the directory holds only other files: the sandbox must not change their mode
 */
async function prepareDirectory(directory: string): Promise<void> {
  await makeDirectories(directory);
  const names = await readdir(directory);
  // A crash may leave the draft of a file: `sandbox.pid.4711`.
  const isOwn = (name: string): boolean => OWN_NAMES.some((own) => name === own || name.startsWith(`${own}.`));
  if (names.length > 0 && !names.some(isOwn)) {
    throw new Error(`The data directory ${directory} is not empty and holds no sandbox data.`);
  }
  await chmod(directory, 0o700);
}

/** Whether a process with this id runs, even if it belongs to another user. */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return hasErrorCode(error, 'EPERM');
  }
}

/** Whether the process in a pid file may still use the directory. An unreadable pid file counts as alive. */
function mayBeAlive(owner: string): boolean {
  const [pid = Number.NaN, startedAt] = owner.split(' ').map(Number);
  if (Number.isNaN(pid)) return true;
  // In a container every run has the same process id.
  return pid === process.pid ? startedAt === performance.timeOrigin : isRunning(pid);
}

/** Creates the pid file atomically. @returns false if it exists */
async function createOwnerFile(path: string): Promise<boolean> {
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, `${process.pid} ${performance.timeOrigin}`, { mode: 0o600 });
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if (hasErrorCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/**
 * Prepares a data directory and claims it for this process. Takes over the claim of a process that no longer runs.
 * @returns a function that releases the claim
 * @throws Error when a running process holds the claim, or when the directory holds only other files
 */
export async function claimDirectory(directory: string): Promise<() => Promise<void>> {
  await prepareDirectory(directory);
  const path = join(directory, OWNER_FILE);
  for (;;) {
    if (await createOwnerFile(path)) return () => rm(path, { force: true });
    const owner = await readFile(path, 'utf8').catch(() => undefined);
    if (owner === undefined) continue;
    if (mayBeAlive(owner)) {
      const hint = `If no sandbox is running there, delete ${path}.`;
      throw new Error(
        `The data directory ${directory} is in use by another sandbox (process ${owner.split(' ')[0]}). ${hint}`,
      );
    }
    await rm(path, { force: true });
  }
}

/** Creates an admin key of 192 random bits. */
export function createAdminKey(): string {
  return `sbadm_${randomBytes(24).toString('base64url')}`;
}

async function readSecret(path: string): Promise<string | undefined> {
  const stored = await readFile(path, 'utf8').catch(() => '');
  return stored.trim() || undefined;
}

/** Writes a file that only its owner can read. */
async function writeSecret(path: string, secret: string): Promise<void> {
  const draft = `${path}.new`;
  // writeFile sets the mode of new files only: an old draft would keep its own.
  await rm(draft, { force: true });
  await writeFile(draft, `${secret}\n`, { mode: 0o600, flush: true });
  await rename(draft, path);
}

/** The admin key of a data directory, created on first use. */
export async function loadAdminKey(directory: string): Promise<string> {
  const path = join(directory, KEY_FILE);
  const stored = await readSecret(path);
  if (stored !== undefined) return stored;
  const key = createAdminKey();
  await writeSecret(path, key);
  return key;
}

/** The partner token of a data directory, or undefined if it has none. */
export function loadToken(directory: string): Promise<string | undefined> {
  return readSecret(join(directory, TOKEN_FILE));
}

/** Stores the partner token in a data directory. */
export function saveToken(directory: string, token: string): Promise<void> {
  return writeSecret(join(directory, TOKEN_FILE), token);
}
