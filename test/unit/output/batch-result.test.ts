import { expect, test } from 'vitest';
import { formatCounts } from '../../../src/output/batch-result.ts';

test.each([
  [{ created: 0, exists: 1 }, '1 exists.'],
  [{ created: 1, exists: 2 }, '1 created, 2 exist.'],
  [{ created: 2, failed: 1 }, '2 created, 1 failed.'],
])('the counts %j are shown as %s', (counts, text) => {
  expect(formatCounts(counts)).toBe(text);
});
