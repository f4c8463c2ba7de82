import { renameSync, rmSync, statSync, writeFileSync } from 'node:fs';

/** Takes the lock, which nobody gives back: its age is the time since the last refresh began. */
export function takeLock(path: string, pid: number): boolean {
  const old = `${path}.${pid}`;
  try {
    // Of two processes, one renames the old lock, and one creates the new one.
    renameSync(path, old);
    rmSync(old);
  } catch {
    // There is none yet, or another process was faster.
  }
  try {
    writeFileSync(path, '', { flag: 'wx', mode: 0o600 });
    return true;
  } catch {
    return false;
  }
}

/** Returns when the last refresh began, in milliseconds since the epoch. */
export function lockedAt(path: string): number {
  try {
    return statSync(path).mtimeMs;
  } catch {
    return Number.NEGATIVE_INFINITY;
  }
}
