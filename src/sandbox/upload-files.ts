import { createHash } from 'node:crypto';
import { type FileHandle, mkdir, mkdtemp, open, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UPLOADS_DIRECTORY } from './data-directory.ts';
import type { Upload } from './resources.ts';

/** The bytes of uploads: one file each, named by its id. A file without a record is left over from a crash. */
export class UploadFiles {
  readonly #path: string | undefined;
  #created: Promise<string> | undefined;

  /** @param dataDir keeps the files; by default they are in a temporary directory */
  constructor(dataDir?: string) {
    this.#path = dataDir === undefined ? undefined : join(dataDir, UPLOADS_DIRECTORY);
  }

  /** Writes a file as its bytes arrive. It is on disk when this resolves, and removed when this rejects. */
  async write(
    uploadId: string,
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  ): Promise<Pick<Upload, 'bytes' | 'sha256'>> {
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
    for (const id of uploadIds) await rm(join(await this.#directory(), id), { force: true });
  }

  async removeUnrecorded(isRecorded: (uploadId: string) => boolean): Promise<void> {
    const names = this.#path === undefined ? [] : await readdir(this.#path).catch(() => []);
    await this.remove(names.filter((name) => !isRecorded(name)));
  }

  /** Removes the temporary directory; files of a data directory stay. */
  async close(): Promise<void> {
    if (this.#path !== undefined || !this.#created) return;
    await rm(await this.#created, { recursive: true, force: true, maxRetries: 3 });
  }

  /** The directory, which is created with the first upload. */
  #directory(): Promise<string> {
    const path = this.#path;
    this.#created ??=
      path === undefined
        ? mkdtemp(join(tmpdir(), 'partnerctl-uploads-'))
        : mkdir(path, { recursive: true, mode: 0o700 }).then(() => path);
    return this.#created;
  }
}
