import { readdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Longer than any git command runs. */
const LEFTOVER_MS = 3_600_000;

async function namesIn(directory: string): Promise<readonly string[]> {
  return await readdir(directory).catch(() => []);
}

/**
 * Removes files of killed processes that are older than an hour: locks, which would keep git from updating refs, fetched
 * refs, and incomplete clones. Ignores failures.
 * @param clone the path of the clone
 * @param now in milliseconds since 1970
 * @param seenRef the ref that remembers the branch
 */
export async function removeLeftovers(clone: string, now: number, seenRef: string): Promise<void> {
  const isLock = (name: string): boolean => name.endsWith('.lock');
  const places: readonly [string, (name: string) => boolean][] = [
    [clone, isLock],
    [dirname(join(clone, seenRef)), isLock],
    [join(clone, 'refs', 'fetched'), () => true],
    [dirname(clone), (name) => name.startsWith(`${basename(clone)}-`)],
  ];
  for (const [directory, isLeftover] of places) {
    for (const name of (await namesIn(directory)).filter(isLeftover)) {
      const path = join(directory, name);
      const modifiedAt = (await stat(path).catch(() => undefined))?.mtimeMs ?? now;
      if (now - modifiedAt > LEFTOVER_MS) await rm(path, { recursive: true, force: true }).catch(() => undefined);
    }
  }
}
