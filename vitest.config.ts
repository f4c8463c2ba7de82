import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // The end-to-end tests run the built program, so it is built before the first of them.
    globalSetup: ['test/helpers/build.ts'],
    // Most of them wait for processes and sockets more than they compute.
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // The environment of whoever runs the tests must not reach them.
    env: { NO_COLOR: '', FORCE_COLOR: '', CI: '' },
  },
});
