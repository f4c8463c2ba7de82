import { expect, test } from 'vitest';
import { Pace } from '../../../src/chat/pace.ts';
import { fastClock } from '../../support/run.ts';

/** The pauses of a session in which nothing is said, until `totalMs` have passed. */
async function pausesOf(totalMs: number, sessions: number): Promise<readonly number[]> {
  const clock = fastClock();
  const pace = new Pace({ clock, random: () => 0, intervalMs: undefined, sessions: () => sessions });
  const end = clock.now() + totalMs;
  while (clock.now() < end) await pace.wait(pace.pauseMs());
  return clock.slept;
}

test('A session is polled fast for six seconds after a message, and then after a tenth of the silence, up to ten seconds', async () => {
  let silence = 0;
  for (const pause of await pausesOf(3_600_000, 1)) {
    expect(pause).toBeCloseTo(Math.min(10_000, Math.max(600, silence / 10)), 3);
    silence += pause;
  }
});

test('Many idle sessions are polled twice a second, together, and many busy ones a hundred times', async () => {
  const pauses = await pausesOf(3_600_000, 40);
  expect(pauses.at(-1)).toBe(40 * 500);
  expect((await pausesOf(1, 200))[0]).toBe(200 * 9);
});
