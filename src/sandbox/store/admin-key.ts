import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { readIfThere, replaceFile } from './files.ts';

/** Its name in the data directory. */
export const KEY_FILE = 'admin-key';

/** A fresh admin key: 192 random bits. */
export function makeAdminKey(): string {
  return `sbadm_${randomBytes(24).toString('base64url')}`;
}

/** The data directory's own admin key, made on first use and the same from then on. */
export async function keptAdminKey(directory: string): Promise<string> {
  const path = join(directory, KEY_FILE);
  const kept = (await readIfThere(path))?.toString('utf8').trim();
  if (kept) return kept;
  const key = makeAdminKey();
  await replaceFile(path, [`${key}\n`]);
  return key;
}
