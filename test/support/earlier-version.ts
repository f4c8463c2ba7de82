import { hash } from 'node:crypto';

/** A line of the state as version 1 of its format wrote it: with a checksum, but without a length. */
export function encodeVersion1(record: object): string {
  const covered = JSON.stringify({ v: 1, ...record }).slice(0, -1);
  return `${covered},"sum":"${hash('sha256', covered, 'hex').slice(0, 16)}"}`;
}
