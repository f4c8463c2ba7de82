import fc from 'fast-check';
import { expect, it } from 'vitest';
import { anySays, anyWaves, copies, play, playMerged } from '../unit/cron/scenario.ts';

// Each scenario encodes and decodes every record as the product does: 5,000 take about five minutes.
const RUNS = 5_000;
const MINUTES = 60_000;

it(
  `a job is created at most once in ${RUNS} scenarios`,
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), anySays, anyWaves, async (scheduler, says, waves) => {
        expect(await play(scheduler, says, waves)).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  },
  20 * MINUTES,
);

it(
  `a job is created at most once in ${RUNS / 5} pairs of copies that were merged`,
  async () => {
    const picks = fc.array(fc.boolean(), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), copies, picks, fc.boolean(), async (scheduler, waves, pick, twice) => {
        expect(await playMerged(scheduler, waves, pick, twice)).toEqual([]);
      }),
      { numRuns: RUNS / 5 },
    );
  },
  20 * MINUTES,
);
