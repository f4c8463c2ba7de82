import { type Clock, startStopwatch } from '../platform/clock.ts';

/** How old a list may be when a write depends on it: another machine may have written since. */
const MAX_AGE_MS = 2_000;
/** How many times as long as reading it took a list may be old, so that reading takes a seventh of the time at most. */
const MAX_AGE_FACTOR = 6;

/** A list that is read again when the last reading is too old. */
export interface FreshList<List> {
  /** Returns a recent reading, even one that failed. Calls at the same time share one. */
  readonly recent: () => Promise<List>;
  /** Returns a reading that begins now. */
  readonly anew: () => Promise<List>;
}

/** @param read reads all of the list once */
export function createFreshList<List>(
  read: () => Promise<List>,
  clock: Pick<Clock, 'now' | 'monotonic'>,
): FreshList<List> {
  let latest: { readonly list: Promise<List>; isTooOld: () => boolean } | undefined;

  function anew(): Promise<List> {
    const age = startStopwatch(clock);
    const reading = { list: read(), isTooOld: () => false };
    const letAge = (): void => {
      const maxAgeMs = Math.max(MAX_AGE_MS, MAX_AGE_FACTOR * age());
      reading.isTooOld = () => age() > maxAgeMs;
    };
    reading.list.then(letAge, letAge);
    latest = reading;
    return reading.list;
  }

  return { anew, recent: () => (latest && !latest.isTooOld() ? latest.list : anew()) };
}
