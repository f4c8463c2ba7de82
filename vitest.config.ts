import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that run processes and take long. */
const LONG = /\/test\/(terminal|promises|wire|unit\/state|commands\/(sandbox-|state-|command-lines|countdown))/;

/** Runs the long files first: the last one would run alone. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => Number(LONG.test(b.moduleId)) - Number(LONG.test(a.moduleId)));
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Builds the program, for the tests that run it as a process.
    globalSetup: ['test/support/build.ts'],
    setupFiles: ['test/support/properties.ts'],
    // Tests mostly wait for processes and sockets.
    maxWorkers: 4,
    // A larger nursery for objects saves about a fourteenth of the CPU time.
    execArgv: ['--max-semi-space-size=64'],
    // No module keeps state (the linter enforces it), so files can share a process. Loading all modules again for each file
    // takes a quarter of the time.
    isolate: false,
    sequence: { sequencer: LongFirst },
    // Only to end tests that hang: on a busy machine, a test can take ten times as long.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 90_000 } },
    // Overrides the environment of whoever runs the tests.
    env: { NO_COLOR: '', FORCE_COLOR: '', CI: '', TZ: 'UTC' },
  },
});
