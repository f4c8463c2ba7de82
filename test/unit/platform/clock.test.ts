import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { startStopwatch, withTimeLimit } from '../../../src/platform/clock.ts';

test('A stopwatch advances if the clock is set back, and if a monotonic one stands still.', () => {
  const clock = { wall: 1_000_000, steady: 0, now: () => clock.wall, monotonic: () => clock.steady };
  const elapsed = startStopwatch(clock);
  clock.steady += 500;
  clock.wall -= 3_600_000;
  expect(elapsed()).toBe(500);
  clock.wall += 3_600_000 + 2_000;
  expect(elapsed()).toBe(2_000);
});

test('A time limit aborts after its time, also if garbage was collected meanwhile.', async () => {
  setFlagsFromString('--expose-gc');
  const limit = withTimeLimit(new AbortController().signal, 50);
  const aborted = once(limit, 'abort');
  await setImmediate();
  runInNewContext('gc')();
  await aborted;
  expect(limit.reason).toMatchObject({ message: 'No response within 50ms' });
});

test('A signal with a time limit aborts with its own reason before.', () => {
  const control = new AbortController();
  const limit = withTimeLimit(control.signal, 60_000);
  control.abort(new Error('Interrupted.'));
  expect(limit.reason).toMatchObject({ message: 'Interrupted.' });
});
