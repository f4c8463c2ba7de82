import { createHash } from 'node:crypto';
import { chmod, type FileHandle, mkdir, mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Upload } from './resources.ts';

const OWNER_FILE = 'sandbox.pid';
const UPLOADS_DIRECTORY = 'sandbox-uploads';

const OWN_NAMES = [OWNER_FILE, UPLOADS_DIRECTORY, 'journal.jsonl'];

/** Whether an error has this system error code. */
export function hasErrorCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

/** Creates a directory and its parents. `mkdir` with `recursive` never returns on a file system such as /proc. */
async function makeDirectories(path: string): Promise<void> {
  try {
    await mkdir(path, 0o700);
  } catch (error) {
    if (hasErrorCode(error, 'EEXIST')) return;
    if (!hasErrorCode(error, 'ENOENT') || dirname(path) === path) throw error;
    await makeDirectories(dirname(path));
    await mkdir(path, 0o700);
  }
}

/** Whether the process in a pid file may still use the directory. */
function isAlive(owner: string): boolean {
  const [pid = 0, startedAt] = owner.split(' ').map(Number);
  // In a container every run has the same process id.
  if (pid === process.pid) return startedAt === performance.timeOrigin;
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    return hasErrorCode(error, 'EPERM');
  }
}

/**
 * Claims a data directory for this process, and takes over the claim of one that no longer runs. The directory is created if
 * it is missing; only its owner can access it.
 * @returns a function that releases the claim
 * @throws Error when a running process holds the claim, or when the directory holds only other files
 */
export async function claimDirectory(directory: string): Promise<() => Promise<void>> {
  await makeDirectories(directory);
  const names = await readdir(directory);
  // The sandbox must not change the mode of a directory of something else.
  if (names.length > 0 && !names.some((name) => OWN_NAMES.includes(name))) {
    throw new Error(`The data directory ${directory} is not empty and holds no sandbox data.`);
  }
  await chmod(directory, 0o700);
  const path = join(directory, OWNER_FILE);
  const owner = await readFile(path, 'utf8').catch(() => '');
  if (isAlive(owner)) {
    const [pid] = owner.split(' ');
    const hint = `If no sandbox is running there, delete ${path}.`;
    throw new Error(`The data directory ${directory} is in use by another sandbox (process ${pid}). ${hint}`);
  }
  await rm(path, { force: true });
  await writeFile(path, `${process.pid} ${performance.timeOrigin}`, { flag: 'wx', mode: 0o600 });
  return () => rm(path, { force: true });
}

/** The bytes of uploads: one file each, named by its id. A file without a record is left over from a crash. */
export class Files {
  readonly #dataDir: string | undefined;
  #directory: Promise<string> | undefined;

  /** @param dataDir keeps the files; without one they are in a temporary directory, which `close` removes */
  constructor(dataDir: string | undefined) {
    this.#dataDir = dataDir;
  }

  /** Writes a file as its bytes arrive. It is on disk when this resolves, and removed when this rejects. */
  async write(id: string, chunks: AsyncIterable<Uint8Array> | Uint8Array[]): Promise<Pick<Upload, 'bytes' | 'sha256'>> {
    const file = await open(await this.#pathOf(id), 'wx', 0o600);
    const hash = createHash('sha256');
    let bytes = 0;
    try {
      for await (const chunk of chunks) {
        hash.update(chunk);
        bytes += chunk.length;
        await file.appendFile(chunk);
      }
      await file.sync();
    } catch (error) {
      await this.remove([id]);
      throw error;
    } finally {
      await file.close();
    }
    return { bytes, sha256: hash.digest('hex') };
  }

  async open(id: string): Promise<FileHandle> {
    return open(await this.#pathOf(id), 'r');
  }

  async remove(ids: readonly string[]): Promise<void> {
    for (const id of ids) await rm(await this.#pathOf(id), { force: true });
  }

  /** Removes all other files. */
  async keepOnly(ids: readonly string[]): Promise<void> {
    const names = await readdir(await this.#pathOf('')).catch(() => []);
    await this.remove(names.filter((name) => !ids.includes(name)));
  }

  async close(): Promise<void> {
    if (this.#dataDir === undefined && this.#directory)
      await rm(await this.#directory, { recursive: true, force: true });
  }

  async #pathOf(id: string): Promise<string> {
    this.#directory ??= this.#create();
    return join(await this.#directory, id);
  }

  async #create(): Promise<string> {
    if (this.#dataDir === undefined) return mkdtemp(join(tmpdir(), 'partnerctl-uploads-'));
    const path = join(this.#dataDir, UPLOADS_DIRECTORY);
    await mkdir(path, { recursive: true, mode: 0o700 });
    return path;
  }
}
