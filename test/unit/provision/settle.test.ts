import { describe, expect, it } from 'vitest';
import { SettleWindow } from '../../../src/provision/settle.ts';

/** Sleeps as the window says until nothing can appear any more. @returns the length of each sleep */
function sleepsFor(window: SettleWindow, ...missing: readonly string[]): number[] {
  const sleeps: number[] = [];
  for (let ms = window.nextLookMs(missing); ms > 0; ms = window.nextLookMs(missing)) {
    window.addSleep(ms);
    sleeps.push(ms);
  }
  return sleeps;
}

describe('the wait for something that may still appear', () => {
  it('has looks at growing intervals, the last one when the time has passed', () => {
    expect(sleepsFor(new SettleWindow(10_000), 'a')).toEqual([1000, 1000, 2000, 4000, 2000]);
    expect(sleepsFor(new SettleWindow(300), 'a')).toEqual([300]);
  });

  it('counts for each thing from when it was missed first', () => {
    const window = new SettleWindow(3000);
    sleepsFor(window, 'a');
    expect(sleepsFor(window, 'a')).toEqual([]);
    expect(sleepsFor(window, 'a', 'b')).toEqual([1000, 1000, 1000]);
  });

  it('is none if nothing is missing', () => {
    expect(new SettleWindow(3000).nextLookMs([])).toBe(0);
  });
});
