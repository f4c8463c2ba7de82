import { type Clock, startStopwatch } from '../clock.ts';

/** How old a list may be when a write depends on it: another machine may have written since. */
const MAX_AGE_MS = 2_000;
/**
 * How many times as long as reading it took a list may be old. The next reading begins one such time earlier, so that
 * reading takes about a fifth of the time at most.
 */
const MAX_AGE_FACTOR = 6;
/** How long before a list is too old the next reading begins, at least: while a run creates objects, the list grows. */
const MIN_READ_AHEAD_MS = 500;

/** A list that is read again when the last reading is too old. */
export interface FreshList<List> {
  /** Returns a recent reading, even one that failed. Calls at the same time share one. */
  readonly recent: () => Promise<List>;
  /** Returns a reading that begins now. */
  readonly anew: () => Promise<List>;
}

/** One reading of a list. */
interface Reading<List> {
  readonly list: Promise<List>;
  /** How long it may still be used, in milliseconds. */
  leftMs: () => number;
  /** How long it took, in milliseconds. */
  tookMs: number;
}

/**
 * Creates a list. While a reading grows old, the next one runs beside those who use it, so that nobody waits.
 * @param read reads all of it once
 */
export function createFreshList<List>(
  read: () => Promise<List>,
  clock: Pick<Clock, 'now' | 'monotonic'>,
): FreshList<List> {
  let latest: Reading<List> | undefined;
  let next: Reading<List> | undefined;

  function begin(): Reading<List> {
    const age = startStopwatch(clock);
    const reading: Reading<List> = { list: read(), leftMs: () => Number.POSITIVE_INFINITY, tookMs: 0 };
    const letAge = (): void => {
      reading.tookMs = age();
      const maxAgeMs = Math.max(MAX_AGE_MS, MAX_AGE_FACTOR * reading.tookMs);
      reading.leftMs = () => maxAgeMs - age();
    };
    reading.list.then(letAge, letAge);
    return reading;
  }

  function anew(): Promise<List> {
    latest = begin();
    return latest.list;
  }

  /** Reads the list in advance. */
  function readNext(): void {
    const started = begin();
    const before = latest;
    next = started;
    const replace = (): void => {
      next = undefined;
      if (latest === before) latest = started;
    };
    started.list.then(replace, replace);
  }

  return {
    anew,
    recent() {
      if (!latest || latest.leftMs() < 0) return next?.list ?? anew();
      if (!next && latest.leftMs() < Math.max(latest.tookMs, MIN_READ_AHEAD_MS)) readNext();
      return latest.list;
    },
  };
}
