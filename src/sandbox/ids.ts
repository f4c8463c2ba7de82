import { randomBytes } from 'node:crypto';

/** A new identifier: the prefix, an underscore, 80 random bits in hexadecimal. */
export function makeId(prefix: string): string {
  return `${prefix}_${randomBytes(10).toString('hex')}`;
}
