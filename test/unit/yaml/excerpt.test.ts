import { describe, expect, test } from 'vitest';
import { formatExcerpt, toSourceText } from '../../../src/yaml/problem.ts';

function shownAt(text: string, offset: number, length: number): string[] {
  return formatExcerpt(toSourceText({ name: 'a.yaml', text }), [offset, offset + length]).split('\n');
}

describe('formatExcerpt', () => {
  test('shows the line and carets under the range, or one caret for an empty one', () => {
    expect(shownAt('one\ntwo three\n', 8, 5)).toEqual(['   2 | two three', '     |     ^^^^^']);
    expect(shownAt('ab\n', 3, 9)).toEqual(['   2 | ', '     | ^']);
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
});
