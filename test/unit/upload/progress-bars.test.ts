import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { formatTransfers, type Transfer } from '../../../src/upload/progress-bars.ts';

const MB = 1_000_000;
const ALL: Transfer = { label: '1 of 3 files', bytes: 40 * MB, sent: 10 * MB, startedAt: 0 };

describe('the progress bars of an upload', () => {
  it('have one line for all files and one for each, with bytes, rate, and remaining time', () => {
    const one = { label: 'manuals/report.pdf', bytes: 20 * MB, sent: 5 * MB, startedAt: 3_000 };
    expect(formatTransfers(ALL, [one], 120, 5_000)).toEqual([
      '1 of 3 files                 █████░░░░░░░░░░░░░░░ 10 MB of 40 MB, 2 MB/s, 15 s left',
      '  manuals/report.pdf           █████░░░░░░░░░░░░░░░ 5 MB of 20 MB, 2.5 MB/s, 6 s left',
    ]);
  });

  it('show an empty file as complete', () => {
    const empty = { label: 'empty', bytes: 0, sent: 0, startedAt: 0 };
    expect(formatTransfers(empty, [], 120, 0)[0]).toMatch(/^empty +█{20} 0 B of 0 B, 0 B\/s$/);
  });

  it('truncate a long path at its start', () => {
    const long = { ...ALL, label: `${'directory/'.repeat(9)}日本語.pdf` };
    expect(formatTransfers(long, [], 120, 1_000)[0]).toMatch(/^…\S*\/日本語\.pdf +█/);
  });

  it('escape control characters in a name', () => {
    const hostile = { ...ALL, label: 'a\u001b[2J\r\nb' };
    expect(formatTransfers(hostile, [], 120, 1_000)[0]).toMatch(/^a\\x1b\[2J\\r\\nb +█/);
  });

  it('property: have no line as wide as the terminal, whatever the names and figures', () => {
    const transfer = fc.record({
      label: fc.string({ unit: 'grapheme', maxLength: 60 }),
      bytes: fc.maxSafeNat(),
      sent: fc.maxSafeNat(),
      startedAt: fc.nat(),
    });
    const columns = fc.integer({ min: 12, max: 200 });
    fc.assert(
      fc.property(transfer, fc.array(transfer, { maxLength: 3 }), columns, fc.nat(), (all, others, width, now) => {
        const lines = formatTransfers(all, others, width, now);
        expect(lines).toHaveLength(1 + others.length);
        for (const [index, line] of lines.entries()) {
          expect(line).not.toMatch(/[\p{Cc}]/u);
          expect(stringWidth(line) + (index === 0 ? 2 : 0)).toBeLessThan(width);
        }
      }),
    );
  });
});
