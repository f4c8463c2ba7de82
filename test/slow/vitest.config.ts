import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { FlakyTests } from '../support/flaky.ts';

/** The property tests, which `npm test` runs with fewer values. */
const PROPERTIES = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => join('test', name))
  .filter((path) => readFileSync(path, 'utf8').includes("from 'fast-check'"));

export default defineConfig({
  test: {
    include: ['test/slow/**/*.slow.ts', ...PROPERTIES],
    globalSetup: ['test/support/build.ts'],
    setupFiles: ['test/support/seed.ts'],
    // A test that passes only on the retry is listed by FlakyTests.
    retry: 1,
    reporters: [new FlakyTests(), 'default'],
    // Minutes of work on a machine that is not busy: the limit only detects a hang.
    testTimeout: 600_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 90_000 } },
    // Each file runs its own processes; more files concurrently would only wait for each other.
    maxWorkers: 2,
    // The topics of help-topics.sweep.ts.
    maxConcurrency: 3,
    env: { NO_COLOR: '', FORCE_COLOR: '', CI: '', PROPERTY_RUNS: 'all' },
  },
});
