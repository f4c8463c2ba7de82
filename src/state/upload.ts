import type { UploadRecord } from '../upload/history.ts';
import { isOwner, isText, isTextOrNull } from './guards.ts';
import { appendRecord, logReader, prepareLog } from './log.ts';
import { fieldText, type LogRecord } from './record.ts';
import { type UnusableLine, unusableLine } from './unusable.ts';

export interface UploadLog {
  /** Those of a file name, in the order of the file. */
  readonly records: readonly UploadRecord[];
  /** Lines that cannot be used, of those that were read for the first time. */
  readonly unusable: readonly UnusableLine[];
}

const TYPES = [
  'upload.sent',
  'upload.done',
  'upload.released',
  'upload.unknown',
] as const satisfies readonly UploadRecord['type'][];

/** Appends a record of an upload; resolves once it is on disk. @throws LocalError; it may be in the file all the same */
export async function appendUploadRecord(path: string, record: UploadRecord): Promise<void> {
  await appendRecord(path, record);
}

/**
 * To be asked before an upload begins: a file that was sent almost whole, only to find then that this cannot be recorded,
 * was sent for nothing. However often it is asked, it looks once.
 * @returns what throws LocalError when records of uploads cannot be appended
 */
export function uploadLogCheck(path: string): () => Promise<void> {
  let checked: Promise<void> | undefined;
  return () => {
    checked ??= prepareLog(path);
    return checked;
  };
}

/**
 * A record of the log as one of an upload; undefined where it lacks what it should have. Each is written out: a spread
 * would cost three times the memory, and a run may have as many as it has files.
 */
function uploadRecordOf(record: LogRecord): UploadRecord | undefined {
  const { id, at, type, key, origin, kind, sha256, filename, sent, upload_id, why, owner, stamp } = record;
  if (!isText(key) || !isText(filename)) return undefined;
  if (type === 'upload.released' || type === 'upload.unknown') {
    return isText(sent) && isText(why) ? { id, at, key, type, sent, why, filename } : undefined;
  }
  if (!isText(origin) || !isText(sha256) || (kind !== 'attachment' && kind !== 'document')) return undefined;
  if (type === 'upload.sent') {
    return isOwner(owner) ? { id, at, key, type, origin, kind, sha256, filename, owner } : undefined;
  }
  if (type !== 'upload.done' || !isTextOrNull(sent) || !isText(upload_id) || !isTextOrNull(stamp)) return undefined;
  return { id, at, key, type, origin, kind, sha256, filename, sent, upload_id, stamp };
}

/**
 * Opens the state file for the uploads of some file names. However often it is asked, a line is read once, and once more
 * only where it had no end yet.
 * @param filenames those that will be asked for
 * @returns what it says of one of them; of a damaged last line it may tell again once it has its end
 */
export function openUploadLog(path: string, filenames: readonly string[]): (filename: string) => Promise<UploadLog> {
  const wanted = new Map<string, UploadRecord[]>(filenames.map((filename) => [filename, []]));
  const readOn = logReader(path, { containing: TYPES.map((type) => fieldText('type', type)) });
  let reading: Promise<unknown> = Promise.resolve();

  async function catchUp(): Promise<UnusableLine[]> {
    const unusable: UnusableLine[] = [];
    for await (const entry of readOn()) {
      const trouble = unusableLine(entry);
      if (trouble) unusable.push(trouble);
      if (entry.kind !== 'record' || !entry.record.type.startsWith('upload.')) continue;
      const record = uploadRecordOf(entry.record);
      if (record === undefined) unusable.push({ line: entry.line, why: 'not a whole record of an upload' });
      else wanted.get(record.filename)?.push(record);
    }
    return unusable;
  }

  return async (filename) => {
    // One after the other: two readers would each take a part.
    const mine = reading.then(catchUp);
    reading = mine.catch(() => undefined);
    const unusable = await mine;
    return { records: [...(wanted.get(filename) ?? [])], unusable };
  };
}
