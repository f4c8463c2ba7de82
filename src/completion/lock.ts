import { renameSync, rmSync, statSync, writeFileSync } from 'node:fs';

/** Takes the lock. It is never released: its age is the time since the last refresh began. @returns false if it was taken */
export function takeLock(path: string, pid: number): boolean {
  const old = `${path}.${pid}`;
  try {
    // Of several processes, only one can rename the old lock, and only one can create the new one.
    renameSync(path, old);
    rmSync(old);
  } catch {
    // There is no lock yet, or another process was faster.
  }
  try {
    writeFileSync(path, '', { flag: 'wx', mode: 0o600 });
    return true;
  } catch {
    return false;
  }
}

/** Returns when the lock was last taken, in milliseconds since the epoch; -Infinity if never. */
export function lockedAt(path: string): number {
  try {
    return statSync(path).mtimeMs;
  } catch {
    return Number.NEGATIVE_INFINITY;
  }
}
