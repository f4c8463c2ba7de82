import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Upload } from './resources.ts';

const OWNER_FILE = 'sandbox.pid';
const UPLOADS_DIRECTORY = 'sandbox-uploads';

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
 * Claims a data directory for this process, and takes over the claim of one that no longer runs. The directory is
 * created if it is missing; only its owner can access it.
 * @returns a function that releases the claim
 * @throws Error when a running process holds the claim
 */
export async function claimDirectory(directory: string): Promise<() => Promise<void>> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
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

/** The bytes of uploads: one file each, named by its id. */
export class Files {
  readonly #directory: string;
  readonly #isTemporary: boolean;

  /** @param dataDir keeps the files; without one they are in a temporary directory, which `close` removes */
  constructor(dataDir: string | undefined) {
    this.#isTemporary = dataDir === undefined;
    this.#directory = dataDir ? join(dataDir, UPLOADS_DIRECTORY) : join(tmpdir(), `partnerctl-uploads-${randomUUID()}`);
  }

  /** Writes a file as its bytes arrive. It is on disk when this resolves, and removed when this rejects. */
  async write(id: string, chunks: AsyncIterable<Uint8Array>): Promise<Pick<Upload, 'bytes' | 'sha256'>> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const file = await open(join(this.#directory, id), 'wx', 0o600);
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
      await this.remove(id);
      throw error;
    } finally {
      await file.close();
    }
    return { bytes, sha256: hash.digest('hex') };
  }

  open(id: string): Promise<FileHandle> {
    return open(join(this.#directory, id), 'r');
  }

  async remove(id: string): Promise<void> {
    await rm(join(this.#directory, id), { force: true });
  }

  async close(): Promise<void> {
    if (this.#isTemporary) await rm(this.#directory, { recursive: true, force: true });
  }
}
