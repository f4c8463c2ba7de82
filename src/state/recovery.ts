import { open, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { decodeLine, encodeRecord, type LogRecord, type NewRecord } from './record.ts';

/** A record that could not be appended to the state file when it was made, and the file that holds it instead. */
export interface RecoveryFile {
  readonly path: string;
  readonly record: LogRecord;
}

function prefix(statePath: string): string {
  return `${basename(statePath)}.recovery-`;
}

async function writeRecord(path: string, record: NewRecord): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(`${encodeRecord(record)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Writes a record to a file of its own: beside the state file, or, where that fails, in the directory for temporary files.
 * @returns its path; undefined where it could not be written anywhere
 */
export async function writeRecovery(statePath: string, record: NewRecord): Promise<string | undefined> {
  const name = `${prefix(statePath)}${record.id}`;
  for (const directory of [dirname(statePath), tmpdir()]) {
    const path = join(directory, name);
    try {
      await writeRecord(path, record);
      return path;
    } catch {
      // The next directory, or none: the caller reports the id in any case.
    }
  }
  return undefined;
}

async function recordIn(path: string): Promise<LogRecord | undefined> {
  try {
    const decoded = decodeLine((await readFile(path)).subarray(0, -1));
    return decoded.kind === 'record' ? decoded.record : undefined;
  } catch {
    // Another process may have replayed and removed it since.
    return undefined;
  }
}

/** The recovery files beside the state file. Files without a complete record are left out. */
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

/** Removes a recovery file whose record is in the state file. */
export async function removeRecovery({ path }: Pick<RecoveryFile, 'path'>): Promise<void> {
  await rm(path, { force: true });
}
