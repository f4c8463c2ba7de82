import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { UsageError } from '../../../src/errors.ts';
import { formatError } from '../../../src/output/error-text.ts';
import { wrapText } from '../../../src/output/wrap.ts';

describe('wrapText', () => {
  it.each([
    ['one two three four', 'one two\n  three\n  four'],
    ['  one two three', '  one two\n    three'],
    ['- one two three\nfour', '- one two\n  three\nfour'],
    ['see https://example.com/a/long/path now', 'see\n  https://example.com/a/long/path\n  now'],
    ['Run: partnerctl cron list --wide', 'Run:\n  partnerctl cron list --wide'],
    ["Try: git ls-remote 'https://x'", "Try:\n  git ls-remote 'https://x'"],
    ['Run `partnerctl cron list`, then wait', 'Run\n  `partnerctl cron list`,\n  then\n  wait'],
    ['   | a line to copy: is kept', '   | a line to copy: is kept'],
    ['', ''],
  ])('wraps %j', (text, wrapped) => {
    expect(wrapText(text, 10, '  ')).toBe(wrapped);
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

describe('a source line with carets', () => {
  /** An excerpt of line 5 with carets below a part of it. */
  const excerpt = (before: string, marked: string, after: string): string =>
    `   5 | ${before}${marked}${after}\n     | ${' '.repeat(stringWidth(before))}${'^'.repeat(stringWidth(marked))}`;

  it.each([
    ['it fits', ['name: ', 'x', ''], 30, '   5 | name: x\n     |       ^'],
    ['at the start', ['  - ', '{', ' template_id: tmpl_support }'], 30, '   5 |   - { template_id: tmp…\n     |     ^'],
    [
      'in the middle',
      ['  - { template_id: tmpl_support, timezone: ', 'Europe/Berln', ', name: Support }'],
      40,
      '   5 | …imezone: Europe/Berln, name: Su…\n     |           ^^^^^^^^^^^^',
    ],
    [
      'wider than the terminal',
      ['name: ', 'abcdefghijklmnopqrstuvwxyz', ''],
      20,
      '   5 | …abcdefghijk…\n     |  ^^^^^^^^^^^',
    ],
  ] as const)('is cut around the mistake: %s', (_, [before, marked, after], width, cut) => {
    expect(wrapText(excerpt(before, marked, after), width, '  ')).toBe(cut);
  });

  it('property: fits, and underlines what it did, or its start', () => {
    const line = fc.record({
      before: fc.stringMatching(/^[a-z ]{0,60}$/),
      marked: fc.stringMatching(/^[A-Z]{1,30}$/),
      after: fc.stringMatching(/^[a-z ]{0,60}$/),
      width: fc.integer({ min: 20, max: 120 }),
    });
    fc.assert(
      fc.property(line, ({ before, marked, after, width }) => {
        const [cut = '', below = ''] = wrapText(excerpt(before, marked, after), width).split('\n');
        expect(Math.max(stringWidth(cut), below.length)).toBeLessThanOrEqual(width);
        const column = stringWidth(cut.slice(0, cut.search(/[A-Z]/)));
        expect(below.indexOf('^')).toBe(column);
        expect(below.length - column).toBe(/[A-Z]+/.exec(cut)?.[0].length);
      }),
    );
  });
});

describe('an error in a terminal', () => {
  it('wraps with hanging indents, and does not split commands', async () => {
    const error = new UsageError('The file acme.yaml cannot be used by this command.', {
      why: 'acme.yaml:3:9 is not a list.\n\n   3 |   name: a line that is longer than the terminal is wide, cut at its width\n     |         ^',
      hint: 'Fix it and run: partnerctl provision acme.yaml --dry-run',
    });
    const text = await formatError(error, { color: false, debug: false, columns: 40 });
    expect(text).toBe(
      [
        'error: The file acme.yaml cannot be used',
        '  by this command.',
        '  acme.yaml:3:9 is not a list.',
        '',
        '     3 |   name: a line that is longer …',
        '       |         ^',
        'hint: Fix it and run:',
        '  partnerctl provision acme.yaml --dry-run',
        '',
      ].join('\n'),
    );
  });
});
