import fc from 'fast-check';
import { propertyRuns } from './property-runs.ts';

/**
 * Property tests use the same values in every run, so that a new failure comes from a change. To search for new
 * failures: `SEED=$RANDOM npm test`.
 */
fc.configureGlobal({ seed: Number(process.env.SEED ?? 20_261_121), numRuns: propertyRuns(100) });
