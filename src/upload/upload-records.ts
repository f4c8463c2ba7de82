import { createHash } from 'node:crypto';
import type { RecordFormat } from '../state-old/ledger.ts';
import type { OnceRecord } from '../state-old/once-records.ts';
import { isText, isTextOrNull, type LogRecord } from '../state-old/record.ts';

/** What identifies an upload. */
export interface UploadIdentity {
  /** The base URL of the service. */
  readonly origin: string;
  readonly kind: 'attachment' | 'document';
  readonly sha256: string;
  readonly filename: string;
}

/** What the state records of an upload. */
export interface UploadSnapshot extends UploadIdentity {
  /** Proves that a file has not changed, without reading it: see `fileStamp`. */
  readonly stamp: string | null;
}

export type UploadRecord = OnceRecord<UploadSnapshot>;

function decodeSnapshot({ origin, kind, sha256, filename, stamp = null }: LogRecord): UploadSnapshot | undefined {
  if (!isText(origin) || (kind !== 'attachment' && kind !== 'document')) return undefined;
  if (!isText(sha256) || !isText(filename) || !isTextOrNull(stamp)) return undefined;
  return { origin, kind, sha256, filename, stamp };
}

const TYPES = {
  reserved: 'upload.sent',
  created: 'upload.done',
  adopted: 'upload.adopted',
  released: 'upload.released',
  unknown: 'upload.unknown',
  forgotten: 'upload.forgotten',
} as const;

/** The format of records of uploads in the state. */
export const UPLOAD_RECORDS: RecordFormat<UploadSnapshot> = {
  types: TYPES,
  reservationField: 'sent',
  remoteIdField: 'upload_id',
  noun: 'an upload',
  family: 'upload.',
  decodeSnapshot,
};

const KEY_LENGTH = 24;

function shortHash(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts), 'utf8').digest('hex').slice(0, KEY_LENGTH);
}

/** The key of an upload, 24 hexadecimal digits. At most one upload is made per key. */
export function uploadKey({ origin, kind, sha256, filename }: UploadIdentity): string {
  return shortHash([origin, kind, sha256, filename]);
}

/** A file when it was inspected: its path, and the attributes that change when it is written to. */
export interface InspectedFile {
  /** Absolute. */
  readonly path: string;
  readonly bytes: number;
  readonly inode: bigint;
  /** Nanoseconds since 1970. */
  readonly modified: bigint;
  /** Nanoseconds since 1970. Unlike `modified`, programs cannot set it back. */
  readonly changed: bigint;
}

/** Returns a hash that changes if the file does. Does not reveal its path. */
export function fileStamp({ path, bytes, inode, modified, changed }: InspectedFile): string {
  return shortHash([path, bytes, String(inode), String(modified), String(changed)]);
}
