import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import { formatExcerpt, toSourceText } from '../../../src/yaml/problem.ts';

function shownAt(text: string, offset: number, length: number): string[] {
  return formatExcerpt(toSourceText({ name: 'a.yaml', text }), [offset, offset + length]).split('\n');
}

describe('formatExcerpt', () => {
  test('shows the line and carets under the range', () => {
    expect(shownAt('one\ntwo three\n', 8, 5)).toEqual(['   2 | two three', '     |     ^^^^^']);
  });

  test('shows one caret for an empty range, also at the end of a line and of the text', () => {
    expect(shownAt('', 0, 0)).toEqual(['   1 | ', '     | ^']);
    expect(shownAt('ab\n', 2, 0)).toEqual(['   1 | ab', '     |   ^']);
    expect(shownAt('ab\n', 3, 9)).toEqual(['   2 | ', '     | ^']);
  });

  test('underlines a range of several lines up to the end of the first', () => {
    expect(shownAt('a: "b\r\n  c"\r\n', 3, 9)).toEqual(['   1 | a: "b', '     |    ^^']);
  });

  test('shows unprintable characters as dots and tabs as spaces', () => {
    expect(shownAt('\u001b[2J\t\u202e\u0000\ud800\u200bx', 9, 1)).toEqual(['   1 | ·[2J ····x', '     |          ^']);
  });

  test('aligns the caret after wide characters and accents', () => {
    expect(shownAt('日本: e\u0301 👩 x', 10, 1)).toEqual(['   1 | 日本: e\u0301 👩 x', '     |            ^']);
  });

  test('clips a long line around the caret', () => {
    const [line = '', carets = ''] = shownAt(`${'a'.repeat(3_000_000)}X${'b'.repeat(1_000_000)}`, 3_000_000, 500_000);
    expect(line).toMatch(/^ {3}1 \| …a{60}Xb{59}…$/);
    expect(carets).toMatch(/^ {5}\| {62}\^{60}$/);
    expect(shownAt(`X${'b'.repeat(500)}`, 0, 1)[0]).toMatch(/^ {3}1 \| Xb{119}…$/);
  });

  test('property: any text gives two safe lines with the caret under the character', () => {
    const character = fc.oneof(
      fc.constantFrom('a', ' ', '\t', '日', 'é', '\u001b', '\u202e', '\u0000', '\u009b'),
      fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 1 }),
    );
    fc.assert(
      fc.property(fc.array(character, { maxLength: 300 }), fc.nat(), fc.nat(400), (characters, at, length) => {
        const text = characters.join('');
        const offset = at % (text.length + 1);
        const lines = shownAt(text, offset, length);
        expect(lines).toHaveLength(2);
        expect(lines.join('')).not.toMatch(/[\p{Cc}\p{Bidi_Control}\p{Cs}]/u);
        const [line = '', carets = ''] = lines;
        const shown = text.slice(Math.max(0, offset > 60 ? offset - 60 : 0), offset);
        const clipped = offset > 60 ? 1 : 0;
        expect(carets.indexOf('^')).toBe(7 + clipped + stringWidth(shown.replace(/[\p{Cc}\p{Cf}]/gu, '.')));
        expect(line.length).toBeLessThan(132);
      }),
    );
  });
});
