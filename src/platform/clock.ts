import { hrtime } from 'node:process';
import { setTimeout } from 'node:timers/promises';

/** A source of time. Injected, so that tests can control time. */
export interface Clock {
  /** Milliseconds since the epoch. Users and NTP set this time, also backward, and every machine has its own. */
  now(): number;
  /** Milliseconds since an unknown moment. Only ever grows, but may stand still while the machine sleeps. */
  monotonic(): number;
  /** Resolves after `ms` milliseconds. Rejects with the signal's reason if the signal aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/**
 * Starts to measure time, in milliseconds. The monotonic clock may stop while the machine sleeps, and the wall clock
 * may be set back: the one that says more counts.
 */
export function startStopwatch(clock: Pick<Clock, 'now' | 'monotonic'>): () => number {
  const [now, monotonic] = [clock.now(), clock.monotonic()];
  return () => Math.max(clock.now() - now, clock.monotonic() - monotonic);
}

/** Formats milliseconds as flags take them: `500ms`, `30s`, `2m`, `1h`. */
export function formatDuration(ms: number): string {
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000}h`;
  if (ms % 60_000 === 0) return `${ms / 60_000}m`;
  return ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`;
}

/** The system clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  // Node loads `performance` at its first use, which takes more than a millisecond.
  monotonic: () => Number(hrtime.bigint()) / 1e6,
  sleep: (ms, signal) =>
    // A timer of Node waits no longer than this.
    setTimeout(Math.min(ms, 2 ** 31 - 1), undefined, { signal }).catch((error: unknown) => {
      throw signal?.aborted ? signal.reason : error;
    }),
};
