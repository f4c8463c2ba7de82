import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { WORD, wrapText } from '../../../src/output/wrap.ts';

describe('wrapText', () => {
  it.each([
    ['- one two three\nfour', '- one two\n  three\nfour'],
    ['see https://example.com/a/long/path now', 'see\n  https://example.com/a/long/path\n  now'],
    ['Run `partnerctl cron list`, then wait', 'Run\n  `partnerctl cron list`,\n  then\n  wait'],
    ['   | a line to copy: is kept', '   | a line to copy: is kept'],
  ])('wraps %j', (text, wrapped) => {
    expect(wrapText(text, 10, '  ')).toBe(wrapped);
  });

  it('keeps no command of outside text on one line', () => {
    expect(wrapText('git is one tool', 10, '  ', WORD)).toBe('git is one\n  tool');
  });

  it('property: loses no word, and only single words exceed the width', () => {
    const words = fc.array(fc.stringMatching(/^[a-z東é]{1,12}$/), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(words, fc.integer({ min: 4, max: 60 }), (list, width) => {
        const lines = wrapText(list.join(' '), width, '  ').split('\n');
        expect(lines.join(' ').split(/ +/)).toEqual(list);
        for (const line of lines) {
          if (line.trim().includes(' ')) expect(stringWidth(line)).toBeLessThanOrEqual(width);
        }
      }),
    );
  });
});
