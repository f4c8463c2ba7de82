import { randomBytes } from 'node:crypto';
import { chmod, link, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

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
 * Creates a data directory that only its owner can access, or reuses one.
 * @throws Error when the directory holds only other files: the sandbox must not change their mode
 */
async function prepareDirectory(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const names = await readdir(directory);
  // A crash may leave a draft such as `sandbox.pid.4711`.
  const isOwn = (name: string): boolean => OWN_NAMES.some((own) => name === own || name.startsWith(`${own}.`));
  if (names.length > 0 && !names.some(isOwn)) {
    throw new Error(`The data directory ${directory} is not empty and holds no sandbox data.`);
  }
  await chmod(directory, 0o700);
}

/** Whether the process in a pid file may still use the directory. */
function mayBeAlive(owner: string): boolean {
  const [pid = Number.NaN, startedAt] = owner.split(' ').map(Number);
  if (Number.isNaN(pid)) return true;
  // In a container every run has the same process id.
  if (pid === process.pid) return startedAt === performance.timeOrigin;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return hasErrorCode(error, 'EPERM');
  }
}

/** Creates the pid file with its content. @returns false if it exists */
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
 * Claims a data directory for this process, and takes over the claim of a process that no longer runs.
 * @returns a function that releases the claim
 * @throws Error when a running process holds the claim, or when the directory holds only other files
 */
export async function claimDirectory(directory: string): Promise<() => Promise<void>> {
  await prepareDirectory(directory);
  const path = join(directory, OWNER_FILE);
  while (!(await createOwnerFile(path))) {
    const owner = await readFile(path, 'utf8').catch(() => '0');
    if (mayBeAlive(owner)) {
      const hint = `If no sandbox is running there, delete ${path}.`;
      const [pid] = owner.split(' ');
      throw new Error(`The data directory ${directory} is in use by another sandbox (process ${pid}). ${hint}`);
    }
    await rm(path, { force: true });
  }
  return () => rm(path, { force: true });
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

/** The admin key of a data directory, created on first use; without a directory, a new one. */
export async function loadAdminKey(directory: string | undefined): Promise<string> {
  const created = `sbadm_${randomBytes(24).toString('base64url')}`;
  if (directory === undefined) return created;
  const path = join(directory, KEY_FILE);
  const stored = await readSecret(path);
  if (stored === undefined) await writeSecret(path, created);
  return stored ?? created;
}

/** The partner token of a data directory, or undefined if it has none. */
export function loadToken(directory: string): Promise<string | undefined> {
  return readSecret(join(directory, TOKEN_FILE));
}

/** Stores the partner token in a data directory. */
export function saveToken(directory: string, token: string): Promise<void> {
  return writeSecret(join(directory, TOKEN_FILE), token);
}
