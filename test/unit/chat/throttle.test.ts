import fc from 'fast-check';
import { expect, it } from 'vitest';
import { throttleMs } from '../../../src/state/throttle.ts';

it('lets the first through at once, and the next after the pause', () => {
  expect(throttleMs(undefined, 1000, 5000)).toBe(0);
  expect(throttleMs(1000, 1000, 5000)).toBe(5000);
  expect(throttleMs(1000, 4000, 5000)).toBe(2000);
  expect(throttleMs(1000, 9000, 5000)).toBe(0);
});

it('property: never holds anything up for longer than the pause, however the clock was set', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer(), fc.nat(), (lastAt, now, everyMs) => {
      const wait = throttleMs(lastAt, now, everyMs);
      expect(wait).toBeGreaterThanOrEqual(0);
      expect(wait).toBeLessThanOrEqual(everyMs);
    }),
  );
});
