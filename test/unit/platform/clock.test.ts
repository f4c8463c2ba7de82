import { expect, test } from 'vitest';
import { startStopwatch } from '../../../src/platform/clock.ts';

test('A stopwatch advances if the clock is set back, and if a monotonic one stands still.', () => {
  const clock = { wall: 1_000_000, steady: 0, now: () => clock.wall, monotonic: () => clock.steady };
  const elapsed = startStopwatch(clock);
  clock.steady += 500;
  clock.wall -= 3_600_000;
  expect(elapsed()).toBe(500);
  clock.wall += 3_600_000 + 2_000;
  expect(elapsed()).toBe(2_000);
});
