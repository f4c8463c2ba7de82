import { type FileHandle, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LocalError, PartnerctlError } from '../errors.ts';
import { type LocalFile, versionOf } from './files.ts';

interface TemporaryFile {
  readonly file: FileHandle;
  remove(): Promise<void>;
}

/**
 * Opens a new file that only its owner can read, and unlinks it, so that it disappears with this process, however it ends.
 * Windows cannot unlink an open file; there, only `remove` deletes it.
 * @throws Error of the file system
 */
async function openTemporaryFile(): Promise<TemporaryFile> {
  const directory = await mkdtemp(join(tmpdir(), 'partnerctl-upload-'));
  const unlink = () => rm(directory, { recursive: true, force: true });
  try {
    const file = await open(join(directory, 'upload'), 'wx+', 0o600);
    await unlink().catch(() => undefined);
    return {
      file,
      async remove() {
        await file.close();
        await unlink();
      },
    };
  } catch (error) {
    await unlink();
    throw error;
  }
}

/**
 * Copies standard input to a temporary file that disappears with the process, so that it can be hashed and then sent.
 * @throws LocalError if it cannot be stored; a PartnerctlError of reading it
 */
export async function spool(
  chunks: AsyncIterable<Buffer | string>,
  filename: string,
): Promise<{ readonly file: LocalFile; remove(): Promise<void> }> {
  let temporary: TemporaryFile | undefined;
  try {
    temporary = await openTemporaryFile();
    const { file: handle, remove } = temporary;
    await writeFile(handle, chunks);
    const status = await handle.stat({ bigint: true });
    const file = { label: '-', filename, bytes: Number(status.size), version: versionOf(status), handle };
    return { file, remove };
  } catch (error) {
    await temporary?.remove();
    if (error instanceof PartnerctlError) throw error;
    throw new LocalError('Standard input could not be written to a temporary file.', {
      why: error instanceof Error ? error.message : String(error),
      hint: `Nothing was sent. If ${tmpdir()} is full or missing, set TMPDIR to another directory.`,
      cause: error,
    });
  }
}
