import type { FileHandle } from 'node:fs/promises';
import { writeLine } from './lines.ts';
import type { Change } from './world.ts';

/**
 * An append-only file of changes. Changes that arrive while a write is under way share the next write and its fsync.
 * After a failed write nothing is written any more, for what is in memory is then ahead of what is on disk.
 */
export class Journal {
  readonly #file: FileHandle;
  #waiting: string[] = [];
  #writing: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  #closed = false;

  /** @param file open for appending, its end on a line's end. */
  constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Puts changes in line for the next write; they are written together or not at all. */
  append(changes: readonly Change[]): void {
    if (this.#closed) throw new Error('The sandbox is closed.');
    for (const change of changes) this.#waiting.push(JSON.stringify(change));
  }

  /** Resolves when everything appended so far is on disk. */
  durable(): Promise<void> {
    if (this.#waiting.length === 0) return this.#writing;
    this.#next ??= this.#writing.then(() => this.#write());
    return this.#next;
  }

  /** Writes what is in line, then closes the file. */
  async close(): Promise<void> {
    this.#closed = true;
    try {
      await this.durable();
    } finally {
      await this.#file.close();
    }
  }

  #write(): Promise<void> {
    const changes = this.#waiting;
    this.#waiting = [];
    this.#next = undefined;
    this.#writing = this.#file.appendFile(writeLine(changes)).then(() => this.#file.datasync());
    return this.#writing;
  }
}
