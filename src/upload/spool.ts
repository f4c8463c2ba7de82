import { createWriteStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { LocalError } from '../errors.ts';
import { readUntil } from '../input.ts';
import type { LookedAt } from './source.ts';

/** Standard input, kept on disk so that it can be sent more than once. */
export interface Spooled {
  readonly file: LookedAt;
  remove(): Promise<void>;
}

/**
 * Writes standard input to a temporary file that nobody else can read. Memory does not depend on how much comes.
 * @param signal ends the wait, with its own reason
 * @throws LocalError when it cannot be written
 */
export async function spool(stdin: Readable, signal: AbortSignal): Promise<Spooled> {
  const directory = await mkdtemp(join(tmpdir(), 'partnerctl-upload-'));
  const remove = () => rm(directory, { recursive: true, force: true });
  const path = join(directory, 'stdin');
  try {
    await pipeline(readUntil(stdin, signal), createWriteStream(path, { mode: 0o600, flags: 'wx' }));
    const { size, ino, mtimeNs } = await stat(path, { bigint: true });
    return { file: { path, bytes: Number(size), inode: ino, modified: mtimeNs }, remove };
  } catch (error) {
    await remove();
    if (signal.aborted) throw signal.reason;
    throw new LocalError('Standard input could not be kept in a temporary file.', {
      why: error instanceof Error ? error.message : String(error),
      hint: `Nothing was sent. Is the disk full? TMPDIR names another place than ${tmpdir()}.`,
      cause: error,
    });
  }
}
