import { describe, expect, it } from 'vitest';
import { type Transfer, transferLines } from '../../../src/upload/transfer.ts';

const MB = 1_000_000;

function lineOf(transfer: Partial<Transfer>, now: number): string {
  const all = { label: 'all', bytes: 0, sent: 0, startedAt: 0 };
  const [, line = ''] = transferLines(
    all,
    [{ label: 'report.pdf', bytes: 40 * MB, sent: 0, startedAt: 0, ...transfer }],
    now,
  );
  return line;
}

describe('how a file gets on', () => {
  it('shows its share, its rate, and the time left', () => {
    expect(lineOf({ sent: 10 * MB }, 5_000)).toBe(
      `${'report.pdf'.padEnd(28)} ${'█'.repeat(5)}${'░'.repeat(15)} 10 MB of 40 MB, 2 MB/s, 15 s left`,
    );
  });

  it.each([
    [58_500, '59 s left'],
    [60_000, '1 min left'],
    [61_000, '2 min left'],
    [90 * 60_000, '1 h 30 min left'],
  ])('after half of it in %i ms has %s', (now, left) => {
    expect(lineOf({ sent: 20 * MB }, now)).toMatch(new RegExp(`, ${left}$`));
  });

  it('does not guess a time before anything was sent, nor after all was', () => {
    expect(lineOf({}, 1_000)).not.toContain('left');
    expect(lineOf({ sent: 40 * MB }, 1_000)).not.toContain('left');
  });

  it('is whole for an empty file, and never more than whole', () => {
    expect(lineOf({ bytes: 0 }, 1_000)).toContain('█'.repeat(20));
    expect(lineOf({ bytes: 10, sent: 25 }, 1_000)).toContain(`${'█'.repeat(20)} `);
  });

  it('says nothing infinite in the first moment', () => {
    expect(lineOf({ sent: 5 * MB }, 0)).not.toMatch(/NaN|Infinity/);
  });

  it('keeps the end of a long name', () => {
    const line = lineOf({ label: `${'directory/'.repeat(9)}report.pdf` }, 0);
    expect(line).toMatch(/^…[^ ]*\/report\.pdf █*░/);
    expect(line.indexOf(' ')).toBe(28);
  });

  it('has the line for all of them first', () => {
    const all = { label: '1 of 3 files', bytes: 3, sent: 1, startedAt: 0 };
    const two = [
      { label: 'a', bytes: 1, sent: 0, startedAt: 0 },
      { label: 'b', bytes: 1, sent: 0, startedAt: 0 },
    ];
    expect(transferLines(all, two, 0).map((line) => line.trim().split(/ {2}/)[0])).toEqual(['1 of 3 files', 'a', 'b']);
  });
});
