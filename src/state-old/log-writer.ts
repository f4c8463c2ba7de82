import type { FileHandle } from 'node:fs/promises';
import { explainFileError, shortWriteError } from './file-error.ts';
import { HeldFile } from './held-file.ts';
import { openDurably } from './open-durably.ts';

/** Lines that wait to be written. */
interface Waiting {
  readonly lines: readonly string[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Writes in one call. Never completes a short write: the rest could end up after another process's record. */
async function writeOnce(file: FileHandle, path: string, bytes: Buffer): Promise<void> {
  const { bytesWritten } = await file.write(bytes, 0, bytes.length, null);
  if (bytesWritten !== bytes.length) throw shortWriteError(path, bytesWritten, bytes.length);
}

/**
 * Appends to a log, in the order of the calls. Lines that arrive during a write share the next write and its sync. Creates
 * the file (0600) and its directory (0700) if they are missing, follows symbolic links, and never changes existing content.
 * Several processes may append concurrently.
 */
export class LogWriter {
  private readonly path: string;
  private readonly held: HeldFile;
  private waiting: Waiting[] = [];
  private isWriting = false;

  constructor(path: string) {
    this.path = path;
    this.held = new HeldFile(path, () => openDurably(path));
  }

  /**
   * Resolves once the lines are on disk, in the file at the path.
   * @throws LocalError if the write fails; the file may still contain some of the lines, or a part of one
   */
  append(lines: readonly string[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ lines, resolve, reject });
      if (!this.isWriting) void this.writeAll();
    });
  }

  /** Closes the file. Another append opens it again. */
  async close(): Promise<void> {
    await this.held.close();
  }

  private async writeAll(): Promise<void> {
    this.isWriting = true;
    while (this.waiting.length > 0) await this.writeGroup();
    this.held.rest();
    this.isWriting = false;
  }

  private async writeGroup(): Promise<void> {
    let group: readonly Waiting[] | undefined;
    try {
      do {
        const opened = await this.held.use();
        if (!opened) throw new Error('A file that was opened to append is missing.');
        group ??= this.waiting.splice(0);
        // The leading newline terminates a partial line that a killed writer may have left.
        const bytes = Buffer.from(`\n${group.flatMap(({ lines }) => lines).join('\n')}\n`);
        await writeOnce(opened.file, this.path, bytes);
        await opened.file.sync();
        // If another file has replaced this one, write again: nobody reads this one. A record may be appended twice.
      } while (!(await this.held.current()));
      for (const { resolve } of group) resolve();
    } catch (error) {
      group ??= this.waiting.splice(0);
      await this.held.close().catch(() => undefined);
      const explained = await explainFileError(error, this.path, 'written');
      for (const { reject } of group) reject(explained);
    }
  }
}
