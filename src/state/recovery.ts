import { open, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { CronRecord } from '../cron/history.ts';
import { cronRecordOf } from './cron.ts';
import { decodeLine, encodeRecord } from './record.ts';

/** A record that could not be appended to the state file when it was made. */
export interface LeftRecord {
  /** The file that holds it. */
  readonly path: string;
  readonly record: CronRecord;
}

function prefix(statePath: string): string {
  return `${basename(statePath)}.recovery-`;
}

async function writeRecord(path: string, record: CronRecord): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(`${encodeRecord(record)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Leaves a record in a file of its own: beside the state file, or, where that cannot be, in the directory for temporary
 * files.
 * @returns its path; undefined where it could not be written anywhere
 */
export async function leaveRecord(statePath: string, record: CronRecord): Promise<string | undefined> {
  const name = `${prefix(statePath)}${record.id}`;
  for (const directory of [dirname(statePath), tmpdir()]) {
    const path = join(directory, name);
    try {
      await writeRecord(path, record);
      return path;
    } catch {
      // The next place, or none: the caller shows the id in any case.
    }
  }
  return undefined;
}

async function recordIn(path: string): Promise<CronRecord | undefined> {
  try {
    const decoded = decodeLine((await readFile(path)).subarray(0, -1));
    return decoded.kind === 'record' ? cronRecordOf(decoded.record) : undefined;
  } catch {
    // Another process may have taken it up and removed it since.
    return undefined;
  }
}

/** The records that were left beside the state file, each with its file. What is not a whole record is passed over. */
export async function leftRecords(statePath: string): Promise<readonly LeftRecord[]> {
  const directory = dirname(statePath);
  let names: string[];
  try {
    names = await readdir(directory);
  } catch {
    return [];
  }
  const left: LeftRecord[] = [];
  for (const name of names.filter((each) => each.startsWith(prefix(statePath))).sort()) {
    const path = join(directory, name);
    const record = await recordIn(path);
    if (record) left.push({ path, record });
  }
  return left;
}

/** Removes the file of a record that was taken up into the state file. */
export async function removeLeft({ path }: LeftRecord): Promise<void> {
  await rm(path, { force: true });
}
