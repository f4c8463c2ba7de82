import { describe, expect, it } from 'vitest';
import { SettleWindow } from '../../../src/provision/late-effects.ts';

/**
 * Sleeps as the window says until nothing can appear anymore.
 * @param missing for the id of each thing, the time after which no more requests for it are sent
 * @returns the length of each sleep
 */
function sleepsFor(window: SettleWindow, missing: Record<string, number>, from = 0): number[] {
  const sleeps: number[] = [];
  let now = from;
  for (;;) {
    const { waitMs: ms } = window.nextRead(new Map(Object.entries(missing)), now);
    if (ms === 0) return sleeps;
    now += ms;
    sleeps.push(ms);
  }
}

describe('the wait for something that may still appear', () => {
  it('reads at growing intervals, and once more when the time is over', () => {
    expect(sleepsFor(new SettleWindow(10_000), { a: 0 })).toEqual([1000, 1000, 2000, 4000, 2000]);
    expect(sleepsFor(new SettleWindow(300), { a: 0 })).toEqual([300]);
  });

  it('is measured for each thing from when it was first missing', () => {
    const window = new SettleWindow(3000);
    sleepsFor(window, { a: 0 });
    expect(sleepsFor(window, { a: 0 }, 3000)).toEqual([]);
    expect(sleepsFor(window, { a: 0, b: 0 }, 3000)).toEqual([1000, 1000, 1000]);
  });

  it('is measured from the last request, if that is later', () => {
    expect(sleepsFor(new SettleWindow(3000), { a: 5000 })).toEqual([1000, 1000, 2000, 4000]);
  });

  it('says how long it may take in total', () => {
    const window = new SettleWindow(10_000);
    expect(window.nextRead(new Map([['a', 0]]), 500)).toEqual({ waitMs: 1000, leftMs: 10_000 });
    expect(window.nextRead(new Map([['a', 0]]), 8_500)).toEqual({ waitMs: 2000, leftMs: 2000 });
  });

  it('is zero if nothing is missing', () => {
    expect(new SettleWindow(3000).nextRead(new Map(), 0)).toEqual({ waitMs: 0, leftMs: 0 });
  });
});
