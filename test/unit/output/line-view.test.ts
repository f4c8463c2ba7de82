import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lineView, rowsAbove } from '../../../src/output/line-view.ts';
import { displayWidth } from '../../../src/output/width.ts';

const size = { columns: 10, rows: 5 };

describe('a line that is being typed', () => {
  it('is broken where the screen ends, with the cursor where the next character goes', () => {
    expect(lineView('> ', '', 0, size)).toEqual({ rows: ['> '], cursor: { row: 0, column: 2 } });
    expect(lineView('> ', 'abc', 1, size)).toEqual({ rows: ['> abc'], cursor: { row: 0, column: 3 } });
    expect(lineView('> ', '1234567890', 10, size)).toEqual({
      rows: ['> 12345678', '90'],
      cursor: { row: 1, column: 2 },
    });
    expect(lineView('> ', '12345678', 8, size)).toEqual({ rows: ['> 12345678', ''], cursor: { row: 1, column: 0 } });
    expect(lineView('> ', '12345678', 7, size)).toEqual({ rows: ['> 12345678'], cursor: { row: 0, column: 9 } });
  });

  it('never breaks a wide character, and keeps marks with their letters', () => {
    expect(lineView('> ', '1234567株x', 9, size).rows).toEqual(['> 1234567', '株x']);
    expect(lineView('> ', '1234567e\u0301', 8, size)).toEqual({
      rows: ['> 1234567e\u0301'],
      cursor: { row: 0, column: 9 },
    });
  });

  it('shows of one that is taller than the screen the end, or where the cursor is', () => {
    const text = 'abcdefghij'.repeat(9);
    expect(lineView('', text, 90, size)).toEqual({
      rows: ['abcdefghij', 'abcdefghij', 'abcdefghij', ''],
      cursor: { row: 3, column: 0 },
    });
    expect(lineView('', text, 61, size)).toMatchObject({ cursor: { row: 1, column: 1 } });
    expect(lineView('> ', text, 3, size)).toMatchObject({
      rows: ['> abcdefgh', 'ijabcdefgh', 'ijabcdefgh', 'ijabcdefgh'],
      cursor: { row: 0, column: 5 },
    });
  });

  it('is cleaned of what a terminal acts upon; joiners that a script needs stay', () => {
    expect(lineView('', 'a\u202eb', 2, { columns: 80, rows: 5 })).toEqual({
      rows: ['a\\u202eb'],
      cursor: { row: 0, column: 7 },
    });
    const persian = '\u0645\u06cc\u200c\u062e';
    for (const cursor of [0, 1, 2, 3, 4]) {
      const { rows, cursor: shown } = lineView('', persian, cursor, { columns: 80, rows: 5 });
      expect(rows).toEqual([persian]);
      expect(shown.column).toBeLessThanOrEqual(3);
    }
  });

  it('property: no row is too wide, no more rows than fit, the cursor within, and all of it there where it fits', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', 'b', ' ', '株', 'e\u0301', '😀', '\u202e', '\t'),
      maxLength: 60,
    });
    const columns = fc.integer({ min: 8, max: 20 });
    fc.assert(
      fc.property(text, fc.nat(60), columns, fc.integer({ min: 1, max: 12 }), (typed, at, wide, rows) => {
        const view = lineView('› ', typed, Math.min(at, typed.length), { columns: wide, rows });
        for (const row of view.rows) expect(displayWidth(row)).toBeLessThanOrEqual(wide);
        expect(view.rows.length).toBeLessThanOrEqual(Math.max(1, rows - 1));
        expect(view.cursor.row).toBeLessThan(view.rows.length);
        expect(view.cursor.column).toBeLessThan(wide);
        expect(rowsAbove(view, wide)).toBe(view.cursor.row);
        const whole = lineView('› ', typed, typed.length, { columns: wide, rows: 1_000 });
        if (whole.rows.length < rows) expect(view.rows.join('')).toBe(whole.rows.join(''));
      }),
    );
  });

  it('is found again after the terminal has become narrower and wrapped its rows', () => {
    const view = lineView('', 'abcdefghij'.repeat(2), 20, size);
    expect(view.cursor).toEqual({ row: 2, column: 0 });
    expect(rowsAbove(view, 10)).toBe(2);
    expect(rowsAbove(view, 5)).toBe(4);
    expect(rowsAbove(view, 4)).toBe(6);
    expect(rowsAbove(view, 40)).toBe(2);
  });
});
