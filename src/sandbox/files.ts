import { createHash } from 'node:crypto';
import { chmod, type FileHandle, mkdir, mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Upload } from './resources.ts';

const OWNER_FILE = 'sandbox.pid';
const UPLOADS_DIRECTORY = 'sandbox-uploads';

const OWN_NAMES = [OWNER_FILE, UPLOADS_DIRECTORY, 'journal.jsonl'];

/** Whether an error has this system error code. */
export function hasErrorCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
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
  await mkdir(directory, { recursive: true, mode: 0o700 });
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
export interface Files {
  /** Writes a file as its bytes arrive. It is on disk when this resolves, and removed when this rejects. */
  write(id: string, chunks: AsyncIterable<Uint8Array> | Uint8Array[]): Promise<Pick<Upload, 'bytes' | 'sha256'>>;
  open(id: string): Promise<FileHandle>;
  remove(ids: readonly string[]): Promise<void>;
  /** Removes all other files. */
  keepOnly(ids: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** @param dataDir keeps the files; without one they are in a temporary directory, which `close` removes */
export function createFiles(dataDir: string | undefined): Files {
  let created: Promise<string> | undefined;
  const create = async (): Promise<string> => {
    if (dataDir === undefined) return mkdtemp(join(tmpdir(), 'partnerctl-uploads-'));
    await mkdir(join(dataDir, UPLOADS_DIRECTORY), { recursive: true, mode: 0o700 });
    return join(dataDir, UPLOADS_DIRECTORY);
  };
  const pathOf = async (id: string): Promise<string> => {
    created ??= create();
    return join(await created, id);
  };
  const remove = async (ids: readonly string[]): Promise<void> => {
    for (const id of ids) await rm(await pathOf(id), { force: true });
  };
  return {
    remove,
    async write(id, chunks) {
      const file = await open(await pathOf(id), 'wx', 0o600);
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
        await remove([id]);
        throw error;
      } finally {
        await file.close();
      }
      return { bytes, sha256: hash.digest('hex') };
    },
    open: async (id) => open(await pathOf(id), 'r'),
    async keepOnly(ids) {
      if (dataDir === undefined) return;
      const names = await readdir(join(dataDir, UPLOADS_DIRECTORY)).catch(() => []);
      await remove(names.filter((name) => !ids.includes(name)));
    },
    async close() {
      if (dataDir === undefined && created) await rm(await created, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}
