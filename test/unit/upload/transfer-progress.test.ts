import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { transferLine } from '../../../src/commands/upload/shared/transfer-progress.ts';

const MB = 1_000_000;

describe('the progress bar of a transfer', () => {
  it('has the files, the bytes, the rate, and the remaining time', () => {
    const transfer = { files: 3, finishedFiles: 1, bytes: 40 * MB, sentBytes: 10 * MB, elapsedMs: 5_000 };
    expect(transferLine(transfer, 120)).toBe('█████░░░░░░░░░░░░░░░ 1 of 3 files, 10 MB of 40 MB, 2 MB/s, 15 s left');
  });

  it('shows empty files as complete', () => {
    const empty = { files: 1, finishedFiles: 0, bytes: 0, sentBytes: 0, elapsedMs: 0 };
    expect(transferLine(empty, 120)).toBe(`${'█'.repeat(20)} 0 of 1 file, 0 B of 0 B, 0 B/s`);
  });

  it('property: is never as wide as the terminal', () => {
    const transfer = fc.record({
      files: fc.nat(),
      finishedFiles: fc.nat(),
      bytes: fc.maxSafeNat(),
      sentBytes: fc.maxSafeNat(),
      elapsedMs: fc.nat(),
    });
    fc.assert(
      fc.property(transfer, fc.integer({ min: 12, max: 200 }), (any, columns) => {
        expect(stringWidth(transferLine(any, columns)) + 2).toBeLessThan(columns);
      }),
    );
  });
});
