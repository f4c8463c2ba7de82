import { createHash } from 'node:crypto';
import { type FileHandle, mkdtemp, open, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeDirectories, UPLOADS_DIRECTORY } from './data-directory.ts';

export interface StoredBytes {
  readonly bytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
}

/**
 * The bytes of uploads: one file each, named by its id. Files without a record in the journal are leftovers of a crash.
 * The directory is created with the first upload.
 */
export class UploadFiles {
  readonly #path: string | undefined;
  #created: Promise<string> | undefined;

  /** @param dataDir holds the files permanently; by default they are in a temporary directory */
  constructor(dataDir?: string) {
    this.#path = dataDir === undefined ? undefined : join(dataDir, UPLOADS_DIRECTORY);
  }

  /**
   * Writes a file as its bytes arrive. The file is on disk when this resolves, and removed when this rejects.
   * @param chunks the bytes of the file; an error while reading them is thrown
   */
  async write(uploadId: string, chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<StoredBytes> {
    const path = join(await this.#directory(), uploadId);
    const file = await open(path, 'wx', 0o600);
    const hash = createHash('sha256');
    let bytes = 0;
    try {
      for await (const chunk of chunks) {
        hash.update(chunk);
        bytes += chunk.length;
        await file.appendFile(chunk);
      }
      if (this.#path !== undefined) await file.sync();
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    } finally {
      await file.close();
    }
    return { bytes, sha256: hash.digest('hex') };
  }

  async open(uploadId: string): Promise<FileHandle> {
    return open(join(await this.#directory(), uploadId), 'r');
  }

  /** Removes files; missing ones are ignored. */
  async remove(uploadIds: readonly string[]): Promise<void> {
    if (uploadIds.length === 0) return;
    const directory = await this.#directory();
    for (const id of uploadIds) await rm(join(directory, id), { force: true });
  }

  /** Removes the files that a crash left without a record. */
  async removeUnrecorded(isRecorded: (uploadId: string) => boolean): Promise<void> {
    const names = this.#path === undefined ? [] : await readdir(this.#path).catch(() => []);
    await this.remove(names.filter((name) => !isRecorded(name)));
  }

  /** Removes the temporary directory; files below a data directory stay. */
  async close(): Promise<void> {
    if (this.#path !== undefined || !this.#created) return;
    await rm(await this.#created, { recursive: true, force: true, maxRetries: 3 });
  }

  #directory(): Promise<string> {
    this.#created ??= this.#createDirectory();
    return this.#created;
  }

  async #createDirectory(): Promise<string> {
    if (this.#path === undefined) return mkdtemp(join(tmpdir(), 'partnerctl-uploads-'));
    await makeDirectories(this.#path);
    return this.#path;
  }
}
