import fc from 'fast-check';

/* What property tests share. This file is also a setup file of vitest: it configures fast-check for all of them. */

/** Whether all is played, not a sample: in `npm run test:slow`, which sets PROPERTY_RUNS=all. */
export const PLAYS_ALL = process.env.PROPERTY_RUNS === 'all';

/**
 * Returns the number of runs of a property test: all of them only if `PLAYS_ALL`.
 * @param few the number in `npm test`; 0 for what CI runs among the slow tests
 */
export function propertyRuns(all: number, few = Math.ceil(all / 4)): number {
  return PLAYS_ALL ? all : few;
}

/**
 * Property tests use the same values in every run, so that a new failure comes from a change. To search for new
 * failures: `SEED=$RANDOM npm test`.
 */
fc.configureGlobal({ seed: Number(process.env.SEED ?? 20_261_121), numRuns: propertyRuns(100) });

const codePoints = fc.oneof(
  fc.integer({ min: 0, max: 0x7f }),
  fc.integer({ min: 0x80, max: 0xd7ff }),
  fc.integer({ min: 0xe000, max: 0x10ffff }),
);

/** Any Unicode character, as the unit of `fc.string`. Unlike fast-check's own `binary`, it costs no seconds to set up. */
export const anyCharacter = codePoints.map((codePoint) => String.fromCodePoint(codePoint));
