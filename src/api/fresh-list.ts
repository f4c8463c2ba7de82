import { type Clock, startStopwatch } from '../clock.ts';

/** How old a list may be when a write depends on it: another machine may have written since. */
const MAX_AGE_MS = 2_000;
/** How many times as long as reading it took a list may be old, so that reading takes a bounded share of the time. */
const MAX_AGE_FACTOR = 5;

/** A list that is read again when the last reading is too old. */
export interface FreshList<List> {
  /** Returns a recent reading, even one that failed. Calls at the same time share one. */
  readonly recent: () => Promise<List>;
  /** Returns a reading that begins now. */
  readonly anew: () => Promise<List>;
}

/** Creates a list. @param read reads all of it once */
export function createFreshList<List>(
  read: () => Promise<List>,
  clock: Pick<Clock, 'now' | 'monotonic'>,
): FreshList<List> {
  let latest: { readonly reading: Promise<List>; isFresh: () => boolean } | undefined;

  function anew(): Promise<List> {
    const age = startStopwatch(clock);
    const entry = { reading: read(), isFresh: () => true };
    latest = entry;
    const letAge = (): void => {
      const maxAgeMs = Math.max(MAX_AGE_MS, MAX_AGE_FACTOR * age());
      entry.isFresh = () => age() <= maxAgeMs;
    };
    entry.reading.then(letAge, letAge);
    return entry.reading;
  }

  return { anew, recent: () => (latest?.isFresh() ? latest.reading : anew()) };
}
