import fc from 'fast-check';
import { expect, it } from 'vitest';
import { anyWaves, play } from '../unit/upload/scenario.ts';

const RUNS = 10_000;

it(`a file is uploaded at most once in ${RUNS} scenarios, and only what exists is reported`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), anyWaves, async (scheduler, waves) => {
      expect(await play(scheduler, waves)).toEqual([]);
    }),
    { numRuns: RUNS },
  );
});
