import { hrtime } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

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

/** As much as a timer of Node takes. */
const MAX_DURATION_MS = 2 ** 31 - 1;
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a duration of more than 0 such as `500ms`, `30s`, `1.5h`, `7d` to milliseconds. @returns undefined for others */
export function parseDuration(text: string): number | undefined {
  const [, count, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text) ?? [];
  const value = Number(count) * (UNITS[unit] ?? 0);
  return value > 0 && value <= MAX_DURATION_MS ? value : undefined;
}

/** Formats milliseconds as flags take them: `500ms`, `30s`, `2m`, `1h`. */
export function formatDuration(ms: number): string {
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000}h`;
  if (ms % 60_000 === 0) return `${ms / 60_000}m`;
  return ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`;
}

/**
 * Returns a signal that also aborts after a time. The garbage collector takes an `AbortSignal.timeout` that only
 * `AbortSignal.any` knows, and then it never aborts. The timer is left to run out, and keeps no process alive.
 */
export function withTimeLimit(signal: AbortSignal, ms: number): AbortSignal {
  const limit = new AbortController();
  setTimeout(() => limit.abort(new Error(`No response within ${formatDuration(ms)}`)), ms).unref();
  return AbortSignal.any([signal, limit.signal]);
}

/** The system clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  // Node loads `performance` at its first use, which takes more than a millisecond.
  monotonic: () => Number(hrtime.bigint()) / 1e6,
  sleep: (ms, signal) =>
    sleep(Math.min(ms, MAX_DURATION_MS), undefined, { signal }).catch((error: unknown) => {
      throw signal?.aborted ? signal.reason : error;
    }),
};
