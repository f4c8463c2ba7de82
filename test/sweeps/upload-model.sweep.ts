import fc from 'fast-check';
import { expect, it } from 'vitest';
import { anyWaves, play } from '../unit/upload/scenario.ts';

const RUNS = 10_000;

it(`makes a file at most once in ${RUNS} scenarios, and claims only what is there`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), anyWaves, async (scheduler, waves) => {
      expect(await play(scheduler, waves)).toEqual([]);
    }),
    { numRuns: RUNS },
  );
});
