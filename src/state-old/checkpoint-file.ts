import { hash } from 'node:crypto';
import { constants, writeSync } from 'node:fs';
import { open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectories } from '../config/make-directories.ts';
import { errorCode } from '../errors.ts';
import { explainFileError } from './file-error.ts';
import { decodeLine, type LogRecord } from './record.ts';

/** One memory page: the kernel completes such a write even if the process is killed. */
const FILE_BYTES = 4096;

/** A file next to the state file that holds one record, replaced in place. */
export interface CheckpointFile {
  /**
   * Replaces the record. Once this resolves, the record survives a crash of the process, but not a power failure.
   * @param line as `encodeRecord` returns it
   * @returns false if the line is too long for the file, which then stays unchanged
   * @throws LocalError if it cannot be written
   */
  write(line: string): Promise<boolean>;
  close(): Promise<void>;
}

function directoryOf(statePath: string): string {
  return `${statePath}.tails`;
}

function pathOf(statePath: string, key: string): string {
  return join(directoryOf(statePath), hash('sha256', key, 'hex').slice(0, 32));
}

function isMissing(error: unknown): boolean {
  return errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR';
}

/** Opens a checkpoint file for writing. @throws LocalError if it cannot be created */
export async function openCheckpointFile(statePath: string, key: string): Promise<CheckpointFile> {
  const path = pathOf(statePath, key);
  try {
    await makeDirectories(directoryOf(statePath));
    const file = await open(path, constants.O_WRONLY | constants.O_CREAT, 0o600);
    return {
      async write(line) {
        const bytes = Buffer.from(`${line}\n`);
        if (bytes.length > FILE_BYTES) return false;
        // Pad with newlines to overwrite the rest of a longer record.
        const page = Buffer.alloc(FILE_BYTES, '\n');
        bytes.copy(page);
        try {
          // Synchronous: the write only reaches the page cache, which is faster than an asynchronous call.
          writeSync(file.fd, page, 0, FILE_BYTES, 0);
          return true;
        } catch (error) {
          throw await explainFileError(error, path, 'written');
        }
      },
      close: () => file.close(),
    };
  } catch (error) {
    throw await explainFileError(error, path, 'written');
  }
}

/** Reads a checkpoint file; undefined if it is missing or damaged. @throws LocalError if it cannot be read */
export async function readCheckpointFile(statePath: string, key: string): Promise<LogRecord | undefined> {
  const path = pathOf(statePath, key);
  try {
    const bytes = await readFile(path);
    const end = bytes.indexOf('\n');
    const decoded = decodeLine(end === -1 ? bytes : bytes.subarray(0, end));
    return decoded.kind === 'record' ? decoded.record : undefined;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw await explainFileError(error, path, 'read');
  }
}

/** Counts the checkpoint files next to a state file. @throws LocalError if their directory cannot be read */
export async function countCheckpointFiles(statePath: string): Promise<number> {
  try {
    return (await readdir(directoryOf(statePath))).length;
  } catch (error) {
    if (isMissing(error)) return 0;
    throw await explainFileError(error, directoryOf(statePath), 'read');
  }
}
