import { defineConfig } from 'vitest/config';

/** Everything that takes minutes: `npm test` runs the rest. */
export default defineConfig({
  test: {
    include: [
      'test/slow/**/*.slow.ts',
      // What `npm test` checks with fewer fleets, schedules, processes, bits, faults, and kinds of stores.
      'test/commands/{apply,contract,edits,export,fleet,rows}.test.ts',
      'test/sandbox/{chat,clock}.test.ts',
      'test/unit/cron/{at-most-once,schedule}.test.ts',
      'test/unit/state/{log,stores}.test.ts',
      'test/promises/cron-crowd.test.ts',
      'test/promises/cron-never-twice-damage.test.ts',
      'test/promises/nothing-lost-response.test.ts',
      'test/promises/once-engine.test.ts',
      'test/promises/tail-loses-nothing.test.ts',
      'test/promises/token-one-origin.test.ts',
      'test/promises/{whole-or-refused,whole-session}.test.ts',
      'test/terminal/{interrupt,login,waves,webhook}.test.ts',
      // Every operation at every declared service, at services on real frameworks, and at 2,000 generated ones.
      'test/wire/*.slow.ts',
      'test/wire/generated.test.ts',
    ],
    globalSetup: ['test/support/build.ts'],
    setupFiles: ['test/support/properties.ts'],
    // Minutes of work on a machine that is not busy: the limit only detects a hang.
    testTimeout: 600_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 90_000 } },
    // Each file runs its own processes; more files concurrently would only wait for each other.
    maxWorkers: 2,
    // Of tests that mostly wait: topics of the help.
    maxConcurrency: 4,
    env: {
      NO_COLOR: '',
      FORCE_COLOR: '',
      CI: '',
      TZ: 'UTC',
      PROPERTY_RUNS: 'all',
      WIRE_SERVICES: process.env.WIRE_SERVICES ?? '2000',
    },
  },
});
