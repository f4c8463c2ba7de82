import { type FileHandle, open, readFile, truncate } from 'node:fs/promises';
import { check } from '../validation.ts';
import { type Change, changeSchema } from './changes.ts';
import { hasErrorCode } from './data-directory.ts';

/*
 * A line of the journal is a JSON array of changes, made durable by one fsync. A crash can tear only the last line, and
 * nothing in it was acknowledged.
 */

/**
 * An append-only file of changes. Changes that arrive during a write share the next write and its fsync. After a failed
 * write nothing more is written, because memory is then ahead of the disk.
 */
export class Journal {
  readonly #file: FileHandle;
  #waiting: Change[] = [];
  #writing: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  #closed = false;

  /** @param file open for appending, and empty or ending with a newline. */
  constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Queues changes for the next write; they are written together or not at all. @throws Error after `close`. */
  append(changes: readonly Change[]): void {
    if (this.#closed) throw new Error('The sandbox is closed.');
    this.#waiting.push(...changes);
  }

  /** Resolves when everything appended so far is on disk. */
  durable(): Promise<void> {
    if (this.#waiting.length === 0) return this.#writing;
    this.#next ??= this.#writing.then(() => this.#write());
    return this.#next;
  }

  /** Writes what is queued, then closes the file. */
  async close(): Promise<void> {
    this.#closed = true;
    try {
      await this.durable();
    } finally {
      await this.#file.close();
    }
  }

  #write(): Promise<void> {
    const line = `${JSON.stringify(this.#waiting)}\n`;
    this.#waiting = [];
    this.#next = undefined;
    this.#writing = this.#file.appendFile(line).then(() => this.#file.datasync());
    return this.#writing;
  }
}

function parseLine(text: string): Change[] | undefined {
  let line: unknown;
  try {
    line = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(line)) throw new Error('it was written by another version');
  return line.map((change: unknown) => {
    const result = check(changeSchema, change);
    if (result.ok) return result.value;
    throw new Error(`it has a change that this version does not know: ${JSON.stringify(result.fields)}`);
  });
}

/**
 * Reads a journal and cuts off a torn last line.
 * @returns all changes in order; none when there is no such file
 * @throws Error for a damaged line before the last one, and for a change that this version does not know
 */
export async function recoverJournal(path: string): Promise<Change[]> {
  const bytes = await readFile(path).catch((error: unknown) => {
    if (hasErrorCode(error, 'ENOENT')) return Buffer.alloc(0);
    throw error;
  });
  const changes: Change[] = [];
  let start = 0;
  for (let number = 1; start < bytes.length; number += 1) {
    const end = bytes.indexOf('\n', start);
    const line = end === -1 ? undefined : parseLine(bytes.toString('utf8', start, end));
    if (line === undefined) {
      if (end !== -1 && end + 1 < bytes.length) throw new Error(`line ${number} is damaged and is not the last one`);
      break;
    }
    for (const change of line) changes.push(change);
    start = end + 1;
  }
  if (start < bytes.length) await truncate(path, start);
  return changes;
}

/** Opens a journal for appending, readable by its owner alone. */
export async function openJournal(path: string): Promise<Journal> {
  const file = await open(path, 'a', 0o600);
  await file.chmod(0o600);
  return new Journal(file);
}
