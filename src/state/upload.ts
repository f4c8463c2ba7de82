import { isJsonObject } from '../contract/json.ts';
import type { Owner } from '../domain/cron/ledger.ts';
import type { UploadIdentity, UploadRecord } from '../domain/upload/ledger.ts';
import { appendRecord, readLog } from './log.ts';
import { fieldText, type LogRecord } from './record.ts';
import { type UnusableLine, unusableLine } from './unusable.ts';

export interface UploadLog {
  /** Those of the file name, in the order of the file. */
  readonly records: readonly UploadRecord[];
  /** Lines that may concern it and cannot be used. */
  readonly unusable: readonly UnusableLine[];
}

/** Appends a record of an upload; resolves once it is on disk. @throws LocalError; it may be in the file all the same */
export async function appendUploadRecord(path: string, record: UploadRecord): Promise<void> {
  await appendRecord(path, record);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || isText(value);
}

function isOwner(value: unknown): value is Owner {
  return isJsonObject(value) && isText(value.machine) && typeof value.pid === 'number' && isTextOrNull(value.started);
}

function identityOf({ origin, kind, sha256, filename }: LogRecord): UploadIdentity | undefined {
  if (!isText(origin) || !isText(sha256) || !isText(filename)) return undefined;
  return kind === 'attachment' || kind === 'document' ? { origin, kind, sha256, filename } : undefined;
}

/** A record of the log as one of an upload; undefined where it lacks what it should have. */
function uploadRecordOf(record: LogRecord): UploadRecord | undefined {
  const { id, at, type, key, sent, upload_id, why, owner, stamp, filename } = record;
  if (!isText(key)) return undefined;
  const head = { id, at, key };
  if (type === 'upload.released' || type === 'upload.unknown') {
    return isText(sent) && isText(why) && isText(filename) ? { ...head, type, sent, why, filename } : undefined;
  }
  const identity = identityOf(record);
  if (identity === undefined) return undefined;
  if (type === 'upload.sent') return isOwner(owner) ? { ...head, type, ...identity, owner } : undefined;
  if (type !== 'upload.done' || !isTextOrNull(sent) || !isText(upload_id) || !isTextOrNull(stamp)) return undefined;
  return { ...head, type, ...identity, sent, upload_id, stamp };
}

/**
 * What the state file says of uploads under a file name.
 * @throws LocalError when it is there and cannot be read
 */
export async function readUploadLog(path: string, filename: string): Promise<UploadLog> {
  const records: UploadRecord[] = [];
  const unusable: UnusableLine[] = [];
  for await (const entry of readLog(path, { containing: [fieldText('filename', filename)] })) {
    const trouble = unusableLine(entry);
    if (trouble) unusable.push(trouble);
    if (entry.kind !== 'record' || !entry.record.type.startsWith('upload.')) continue;
    const record = uploadRecordOf(entry.record);
    if (record === undefined) unusable.push({ line: entry.line, why: 'not a whole record of an upload' });
    else if (record.filename === filename) records.push(record);
  }
  return { records, unusable };
}
