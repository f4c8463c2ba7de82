import { createHash } from 'node:crypto';
import type { UploadIdentity } from './history.ts';

function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

const KEY_LENGTH = 24;

/** What an upload is known by: the same again is not sent again. 24 hexadecimal digits. */
export function uploadKey({ origin, kind, sha256: hash, filename }: UploadIdentity): string {
  return sha256(JSON.stringify([origin, kind, hash, filename])).slice(0, KEY_LENGTH);
}

/** A file on this machine: where it is, and what changes when it is written to. */
export interface FileFacts {
  /** Absolute. */
  readonly path: string;
  readonly bytes: number;
  readonly inode: bigint;
  /** Nanoseconds since 1970. */
  readonly modified: bigint;
  /** Also nanoseconds since 1970. Nobody can set it back, as `modified` can be. */
  readonly changed: bigint;
}

/** By this a file is known again that has not changed since; it does not tell where the file is. */
export function fileStamp({ path, bytes, inode, modified, changed }: FileFacts): string {
  return sha256(JSON.stringify([path, bytes, String(inode), String(modified), String(changed)])).slice(0, KEY_LENGTH);
}
