import { open, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { makeDirectories } from '../config/make-directories.ts';
import { errorCode } from '../errors.ts';
import { decodeLine, encodeRecord, type LogRecord, type NewRecord } from './record.ts';

/** A record that could not be appended to the state file, and the file that holds it instead. */
export interface RecoveryFile {
  readonly path: string;
  readonly record: LogRecord;
}

function prefix(statePath: string): string {
  return `${basename(statePath)}.recovery-`;
}

async function writeRecord(path: string, record: NewRecord): Promise<void> {
  await makeDirectories(dirname(path));
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(`${encodeRecord(record)}\n`);
    await file.sync();
  } catch (error) {
    // On a full disk, an incomplete file would pass for the record at the next attempt.
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/**
 * Writes a record to its own file: next to the state file, or if that fails, in the directory for temporary files.
 * @returns the path; undefined if both writes failed
 */
export async function writeRecovery(statePath: string, record: NewRecord): Promise<string | undefined> {
  const name = `${prefix(statePath)}${record.id}`;
  for (const directory of [dirname(statePath), tmpdir()]) {
    const path = join(directory, name);
    try {
      await writeRecord(path, record);
      return path;
    } catch (error) {
      // It is this record: the name contains its id.
      if (errorCode(error) === 'EEXIST') return path;
      // Try the next directory. If both fail, the caller still reports the id.
    }
  }
  return undefined;
}

async function recordIn(path: string): Promise<LogRecord | undefined> {
  try {
    const decoded = decodeLine((await readFile(path)).subarray(0, -1));
    return decoded.kind === 'record' ? decoded.record : undefined;
  } catch {
    // Another process may have published and removed it.
    return undefined;
  }
}

/** Returns the recovery files next to the state file. Skips files without a complete record. */
export async function readRecovery(statePath: string): Promise<readonly RecoveryFile[]> {
  const directory = dirname(statePath);
  let names: string[];
  try {
    names = await readdir(directory);
  } catch {
    return [];
  }
  const files: RecoveryFile[] = [];
  for (const name of names.filter((each) => each.startsWith(prefix(statePath))).sort()) {
    const path = join(directory, name);
    const record = await recordIn(path);
    if (record) files.push({ path, record });
  }
  return files;
}

/** Removes a recovery file. Call this only after its record is in the state file. */
export async function removeRecovery({ path }: Pick<RecoveryFile, 'path'>): Promise<void> {
  await rm(path, { force: true });
}
