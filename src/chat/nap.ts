import type { Clock } from '../clock.ts';

/** Waiting is cut into slices so that a machine that slept is noticed when it wakes. */
const SLICE_MS = 1_000;
const SLEPT_MS = 5_000;

/** Whether a time that passed cannot have been what it was meant to be: the machine slept, or its clock was set. */
export function isOverslept(passedMs: number, meantMs: number): boolean {
  return passedMs > meantMs + SLEPT_MS || passedMs < -SLICE_MS;
}

/**
 * Waits until a moment (milliseconds since the epoch), or for as long as the signal lets it.
 * @returns whether the machine slept meanwhile, or its clock was set: the wait then ends early
 */
export async function nap(clock: Clock, until: number, signal: AbortSignal): Promise<boolean> {
  try {
    for (let now = clock.now(); ; ) {
      const slice = Math.max(0, Math.min(SLICE_MS, until - now));
      await clock.sleep(slice, signal);
      const passed = clock.now() - now;
      now += passed;
      if (isOverslept(passed, slice)) return true;
      if (now >= until) return false;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    return false;
  }
}
