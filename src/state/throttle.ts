/**
 * How long something that happens often is to wait before it is done again.
 * @param lastAt when it was last done, in milliseconds; undefined when it never was
 * @param everyMs the least time between two
 * @returns milliseconds from now on; 0 when it may be done at once
 */
export function throttleMs(lastAt: number | undefined, now: number, everyMs: number): number {
  // A clock that was set back must not hold it up for longer than the pause itself.
  if (lastAt === undefined || now < lastAt) return 0;
  return Math.max(0, lastAt + everyMs - now);
}
