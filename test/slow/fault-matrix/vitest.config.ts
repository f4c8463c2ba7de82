import { defineConfig } from 'vitest/config';
import { MatrixTable } from './table.ts';

export default defineConfig({
  test: {
    include: ['test/slow/fault-matrix/*.matrix.ts'],
    reporters: [new MatrixTable()],
    maxConcurrency: 8,
    maxWorkers: 2,
    testTimeout: 120_000,
    env: { NO_COLOR: '', FORCE_COLOR: '', CI: '' },
  },
});
