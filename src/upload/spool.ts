import { type FileHandle, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { readStdin } from '../cli/input.ts';
import { LocalError } from '../errors.ts';
import type { FileFacts } from './identity.ts';

/** Standard input, kept on disk so that it can be sent more than once. */
export interface Spooled {
  readonly file: FileHandle;
  readonly facts: FileFacts;
  remove(): Promise<void>;
}

/**
 * Writes standard input to a temporary file that nobody else can read. Memory does not depend on how much comes.
 * @param signal ends the wait, with its own reason
 * @throws LocalError when it cannot be written; nothing is left behind then
 */
export async function spool(stdin: Readable, signal: AbortSignal): Promise<Spooled> {
  let remove = async (): Promise<void> => undefined;
  try {
    const directory = await mkdtemp(join(tmpdir(), 'partnerctl-upload-'));
    const unlink = () => rm(directory, { recursive: true, force: true });
    remove = unlink;
    const path = join(directory, 'stdin');
    const file = await open(path, 'wx+', 0o600);
    remove = async () => {
      await file.close();
      await unlink();
    };
    // An open file needs no name, and what has none is gone with this process, however that ends. Windows keeps the name.
    await unlink().catch(() => undefined);
    await writeFile(file, readStdin(stdin, signal));
    const { size, ino, mtimeNs, ctimeNs } = await file.stat({ bigint: true });
    return { file, facts: { path, bytes: Number(size), inode: ino, modified: mtimeNs, changed: ctimeNs }, remove };
  } catch (error) {
    await remove();
    if (signal.aborted) throw signal.reason;
    throw new LocalError('Standard input could not be kept in a temporary file.', {
      why: error instanceof Error ? error.message : String(error),
      hint: `Nothing was sent. If ${tmpdir()} is full or missing, name another directory with TMPDIR.`,
      cause: error,
    });
  }
}
