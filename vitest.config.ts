import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { FlakyTests } from './test/helpers/flaky.ts';

/** Files that run processes take longest for their size: one that begins last would be waited for alone. */
class ProcessesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const runsProcesses = ({ moduleId }: TestSpecification): boolean => moduleId.includes('/e2e/');
    return [...sorted.filter(runsProcesses), ...sorted.filter((file) => !runsProcesses(file))];
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // The end-to-end tests run the built program, so it is built before the first of them.
    globalSetup: ['test/helpers/build.ts'],
    setupFiles: ['test/helpers/seed.ts'],
    // Processes, sockets and the machine's clock have bad moments: one is no reason to stop, and none to say nothing.
    retry: 1,
    reporters: [new FlakyTests(), 'default'],
    // Most of them wait for processes and sockets more than they compute.
    maxWorkers: 3,
    // No module of the program keeps state (the linter sees to that), so there is nothing to keep apart: a process for each
    // file would load all of them anew, which took a quarter of the time.
    isolate: false,
    sequence: { sequencer: ProcessesFirst },
    // On a busy machine a test may take ten times as long; these only tell what never ends, and what never comes.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 90_000 } },
    // The environment of whoever runs the tests must not reach them.
    env: { NO_COLOR: '', FORCE_COLOR: '', CI: '' },
  },
});
