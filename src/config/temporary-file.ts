import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeFileError, LocalError } from '../errors.ts';

export interface TemporaryFile {
  readonly file: FileHandle;
  /** For messages only: the name may already be unlinked. */
  readonly path: string;
  remove(): Promise<void>;
}

/**
 * Opens a new file that only its owner can read, and unlinks it, so that it disappears with this process, however it ends.
 * Windows cannot unlink an open file; there, only `remove` deletes it.
 * @param purpose a part of its name, such as `upload`
 * @throws Error of the file system
 */
export async function openTemporaryFile(purpose: string): Promise<TemporaryFile> {
  const directory = await mkdtemp(join(tmpdir(), `partnerctl-${purpose}-`));
  const unlink = () => rm(directory, { recursive: true, force: true });
  try {
    const path = join(directory, purpose);
    const file = await open(path, 'wx+', 0o600);
    await unlink().catch(() => undefined);
    return {
      file,
      path,
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

/** Creates the error for input that could not be stored. @param what the subject of the message: `Standard input` */
export function temporaryFileError(what: string, error: unknown): LocalError {
  return new LocalError(`${what} could not be written to a temporary file.`, {
    why: error instanceof Error ? error.message : String(error),
    hint: `Nothing was sent. If ${tmpdir()} is full or missing, set TMPDIR to another directory.`,
    cause: error,
  });
}

/**
 * Creates a directory that only its owner can read. The caller removes it.
 * @param purpose a part of its name, such as `sandbox`
 * @param fill writes its first files
 * @throws LocalError if the directory or these files cannot be written
 */
export async function makeTemporaryDirectory(
  purpose: string,
  fill: (directory: string) => Promise<void> = async () => undefined,
): Promise<string> {
  let directory: string | undefined;
  try {
    directory = await mkdtemp(join(tmpdir(), `partnerctl-${purpose}-`));
    await fill(directory);
    return directory;
  } catch (error) {
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
    throw new LocalError(`A temporary directory cannot be made in ${tmpdir()}.`, {
      why: describeFileError(error),
      hint: 'If it is full or missing, set TMPDIR to another directory.',
      cause: error,
    });
  }
}
