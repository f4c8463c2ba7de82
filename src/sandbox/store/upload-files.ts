import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { type FileHandle, mkdir, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { namesIn, PRIVATE_DIRECTORY, PRIVATE_FILE, syncDirectory } from './files.ts';

/** Its name in the data directory. */
export const UPLOADS_DIRECTORY = 'sandbox-uploads';

const WRITE_AHEAD_BYTES = 1024 * 1024;

/** Nothing with another name is ours to remove. */
const UPLOAD_ID = /^(doc|att)_[0-9a-f]{20}$/;

export interface StoredBytes {
  readonly bytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
}

/** Where the directory is, and whether what is in it has to outlive a crash. */
interface Place {
  /** Makes the directory where it is missing, and gives its path. */
  readonly made: () => Promise<string>;
  readonly isDurable: boolean;
}

/**
 * The bytes of uploads, a file for each upload with its id for a name. The directory is made when the first one comes.
 * A file counts once there is a record of it; whoever writes one removes it when no record is made.
 */
export class UploadFiles {
  readonly #place: Place;
  #directory: Promise<string> | undefined;

  constructor(place: Place) {
    this.#place = place;
  }

  /**
   * Writes a file as its bytes come; it is on disk when this resolves. What a failure leaves behind is for `remove`.
   * @param chunks its bytes; an error among them is thrown.
   */
  async write(uploadId: string, chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<StoredBytes> {
    const directory = await this.#made();
    const { isDurable } = this.#place;
    const hash = createHash('sha256');
    let bytes = 0;
    async function* hashed(): AsyncGenerator<Uint8Array> {
      for await (const chunk of chunks) {
        hash.update(chunk);
        bytes += chunk.length;
        yield chunk;
      }
    }
    // What comes while one part is being written is written in one go after it.
    const options = { flags: 'wx', mode: PRIVATE_FILE, highWaterMark: WRITE_AHEAD_BYTES, flush: isDurable };
    const file = createWriteStream(join(directory, uploadId), options);
    const closed = new Promise<void>((resolve) => file.once('close', resolve));
    try {
      await pipeline(hashed(), file);
    } finally {
      // One that fails while it is being opened would appear after it was removed.
      await closed;
    }
    if (isDurable) await syncDirectory(directory);
    return { bytes, sha256: hash.digest('hex') };
  }

  /** Opens a file that is there for reading. */
  async open(uploadId: string): Promise<FileHandle> {
    return open(join(await this.#made(), uploadId), 'r');
  }

  /** Removes files; those that are not there are no matter. */
  async remove(uploadIds: readonly string[]): Promise<void> {
    if (uploadIds.length === 0) return;
    const directory = await this.#made();
    for (const id of uploadIds) await rm(join(directory, id), { force: true });
  }

  /** Removes all of it, with the directory. */
  async removeAll(): Promise<void> {
    if (!this.#directory) return;
    await rm(await this.#directory, { recursive: true, force: true, maxRetries: 3 });
  }

  #made(): Promise<string> {
    this.#directory ??= this.#place.made().catch((error: unknown) => {
      this.#directory = undefined;
      throw error;
    });
    return this.#directory;
  }
}

/** Files in a temporary directory, for as long as the process lives. */
export function temporaryUploads(): UploadFiles {
  return new UploadFiles({ made: () => mkdtemp(join(tmpdir(), 'partnerctl-uploads-')), isDurable: false });
}

/**
 * Files below a data directory.
 * @param isRecorded whether there is a record of an upload; the files of all others were left by a crash and are removed.
 */
export async function keptUploads(dataDir: string, isRecorded: (uploadId: string) => boolean): Promise<UploadFiles> {
  const path = join(dataDir, UPLOADS_DIRECTORY);
  for (const name of await namesIn(path)) {
    if (UPLOAD_ID.test(name) && !isRecorded(name)) await rm(join(path, name), { force: true });
  }
  const made = async (): Promise<string> => {
    await mkdir(path, { recursive: true, mode: PRIVATE_DIRECTORY });
    await syncDirectory(dirname(path));
    return path;
  };
  return new UploadFiles({ made, isDurable: true });
}
