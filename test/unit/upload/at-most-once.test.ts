import fc from 'fast-check';
import { expect, it } from 'vitest';
import { propertyRuns } from '../../support/properties.ts';
import { anyWaves, play } from './scenario.ts';

it('a file is uploaded at most once, whatever is lost or killed, and only what exists is reported', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), anyWaves, async (scheduler, waves) => {
      expect(await play(scheduler, waves)).toEqual([]);
    }),
    { numRuns: propertyRuns(10_000, 50) },
  );
});
