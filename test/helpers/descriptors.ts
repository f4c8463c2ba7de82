import { readdirSync, readlinkSync } from 'node:fs';

/** Where Linux shows which files this process has open. */
export const DESCRIPTORS = '/proc/self/fd';

/** The paths of files that this process has open, of those that begin so. */
export function openBelow(directory: string): string[] {
  return readdirSync(DESCRIPTORS).flatMap((descriptor) => {
    try {
      const path = readlinkSync(`${DESCRIPTORS}/${descriptor}`);
      return path.startsWith(directory) ? [path] : [];
    } catch {
      return [];
    }
  });
}
