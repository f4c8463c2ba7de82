import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { propertyRuns } from '../../support/properties.ts';
import { anySays, anyWaves, copies, play, playMerged } from './scenario.ts';

// Each scenario encodes and decodes every record as the product does: 50,000 take about an hour.
const TIME_LIMIT_MS = 4 * 3_600_000;

describe('any number of processes with a service and a state file, whatever fails,', () => {
  it(
    'create a job at most once, lose no id, report only what exists, and leave a way to settle every job',
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.scheduler(), anySays, anyWaves, async (scheduler, says, waves) => {
          expect(await play(scheduler, says, waves)).toEqual([]);
        }),
        { numRuns: propertyRuns(50_000, 60) },
      );
    },
    TIME_LIMIT_MS,
  );

  it(
    'create a job at most once with copies of the state file that diverged and were merged',
    async () => {
      const picks = fc.array(fc.boolean(), { minLength: 1, maxLength: 12 });
      await fc.assert(
        fc.asyncProperty(fc.scheduler(), copies, picks, fc.boolean(), async (scheduler, waves, pick, twice) => {
          expect(await playMerged(scheduler, waves, pick, twice)).toEqual([]);
        }),
        { numRuns: propertyRuns(1_000, 12) },
      );
    },
    TIME_LIMIT_MS,
  );
});
