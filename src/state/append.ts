import { constants } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeDirectories } from '../config/make-directories.ts';
import { InputError } from '../errors.ts';
import { errorCode, explainFileError, notRegularFileError, recordTooLongError, shortWriteError } from './file-error.ts';
import { encodeRecord, MAX_LINE_BYTES, type NewRecord } from './record.ts';

// Without O_NONBLOCK, opening a pipe would wait for its other end.
const { O_APPEND, O_CREAT, O_NONBLOCK = 0, O_RDONLY, O_WRONLY } = constants;

/** Replaces the secrets in a text; a text without any stays the same. */
export type Redact = (text: string) => string;

/** Syncs a directory, so that new files in it survive a power failure. Ignores systems that cannot sync directories. */
async function syncDirectory(path: string): Promise<void> {
  try {
    const directory = await open(path, O_RDONLY);
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  } catch (error) {
    if (errorCode(error) === 'EIO' || errorCode(error) === 'ENOSPC') throw error;
  }
}

async function openToAppend(path: string): Promise<{ file: FileHandle; made: readonly string[] }> {
  const flags = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK;
  try {
    return { file: await open(path, flags, 0o600), made: [] };
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
  const made = await makeDirectories(dirname(path));
  return { file: await open(path, flags, 0o600), made };
}

/** Opens a regular file for appending, and ensures that its directory entry is on disk. */
async function openDurably(path: string): Promise<FileHandle> {
  const { file, made } = await openToAppend(path);
  try {
    const status = await file.stat();
    if (!status.isFile()) throw notRegularFileError(path, 'written');
    // If the file is empty, the process that created it may not have synced the directory yet.
    if (status.size === 0) {
      for (const entry of [...made, await realpath(path)]) await syncDirectory(dirname(entry));
    }
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Checks that the file can be opened for appending. Creates the file and its directory if they are missing.
 * @throws LocalError if the file cannot be opened or created
 */
export async function ensureWritable(path: string): Promise<void> {
  try {
    const file = await openDurably(path);
    await file.close();
  } catch (error) {
    throw await explainFileError(error, path, 'written');
  }
}

/** Writes in one call. Never completes a short write: the rest could end up after another process's record. */
async function writeOnce(file: FileHandle, path: string, bytes: Buffer): Promise<void> {
  const { bytesWritten } = await file.write(bytes, 0, bytes.length, null);
  if (bytesWritten !== bytes.length) throw shortWriteError(path, bytesWritten, bytes.length);
}

/** For logs that can hold no secret. */
const keep: Redact = (text) => text;

/** Refuses a line with a secret. People share the state file. @throws InputError */
export function refuseSecret(line: string, redact: Redact): void {
  if (redact(line) === line) return;
  throw new InputError('A secret would be written to the state.', {
    why: 'A name or an id in this command contains the token, or another secret.',
    hint: 'Use a name or an id without it.',
  });
}

/**
 * Encodes a record as a line of the log.
 * @param label names the log in errors
 * @throws InputError if the record contains a secret; LocalError if the line is too long
 */
export function encodeLine<Fields extends NewRecord>(record: Fields, label: string, redact: Redact): string {
  const line = encodeRecord(record);
  refuseSecret(line, redact);
  const length = Buffer.byteLength(line);
  if (length > MAX_LINE_BYTES) throw recordTooLongError(label, length, MAX_LINE_BYTES);
  return line;
}

/**
 * Appends one record to the log and resolves once it is on disk. Creates the file (0600) and its directory (0700) if
 * they are missing, follows a symbolic link, and never changes existing content. Several processes may append
 * concurrently.
 * @throws InputError if the record contains a secret, before anything is written
 * @throws LocalError if the write fails; the file may still contain part or all of the record
 */
export async function appendRecord<Fields extends NewRecord>(
  path: string,
  record: Fields,
  redact: Redact = keep,
): Promise<void> {
  await appendLines(path, [encodeLine(record, path, redact)]);
}

/** Appends lines to the log in one write, as `appendRecord` does. @throws LocalError as `appendRecord` */
export async function appendLines(path: string, lines: readonly string[]): Promise<void> {
  // The leading newline terminates a partial line that a killed writer may have left.
  const bytes = Buffer.from(`\n${lines.join('\n')}\n`);
  try {
    const file = await openDurably(path);
    try {
      await writeOnce(file, path, bytes);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    throw await explainFileError(error, path, 'written');
  }
}

/** Appends lines to the content of a log. The leading newline ends a line that an editor left without one. */
export function extendLog(content: Buffer, lines: readonly string[]): Buffer {
  const needsNewline = content.length > 0 && content.at(-1) !== 0x0a;
  return Buffer.concat([
    content,
    Buffer.from(`${needsNewline ? '\n' : ''}${lines.map((line) => `${line}\n`).join('')}`),
  ]);
}
