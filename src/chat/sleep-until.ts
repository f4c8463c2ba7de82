import type { Clock } from '../clock.ts';

/** Waiting is sliced, so that a machine that slept is noticed when it wakes. */
const SLICE_MS = 1_000;
const SLEPT_MS = 5_000;

/** Whether the clock jumped: the machine slept, or its clock was set. */
export function isClockJump(passedMs: number, expectedMs: number): boolean {
  return passedMs > expectedMs + SLEPT_MS || passedMs < -SLICE_MS;
}

/** Waits until a time (milliseconds since the epoch) or until aborted. @returns whether a clock jump ended it early */
export async function sleepUntil(clock: Clock, until: number, signal: AbortSignal): Promise<boolean> {
  try {
    for (let now = clock.now(); ; ) {
      const slice = Math.max(0, Math.min(SLICE_MS, until - now));
      await clock.sleep(slice, signal);
      const passed = clock.now() - now;
      now += passed;
      if (isClockJump(passed, slice)) return true;
      if (now >= until) return false;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    return false;
  }
}
