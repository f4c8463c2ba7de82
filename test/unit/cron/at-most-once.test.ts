import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anySays, anyWaves, copies, play, playMerged } from './scenario.ts';

/** A sweep plays many more. */
const RUNS = 200;

describe('whatever happens between any number of processes, a service and a file', () => {
  it('makes a job at most once, loses no id, claims nothing that is not there, and leaves a way out', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), anySays, anyWaves, async (scheduler, says, waves) => {
        expect(await play(scheduler, says, waves)).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });

  it('holds for copies of the file that grew apart and were merged', async () => {
    const picks = fc.array(fc.boolean(), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), copies, picks, fc.boolean(), async (scheduler, waves, pick, twice) => {
        expect(await playMerged(scheduler, waves, pick, twice)).toEqual([]);
      }),
      { numRuns: RUNS / 2 },
    );
  });
});
