import { readdirSync, readlinkSync } from 'node:fs';

/** The open files of this process on Linux. */
export const DESCRIPTORS = '/proc/self/fd';

/** The open files of this process whose paths start with `directory`. */
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
