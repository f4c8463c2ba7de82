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
    ['  3 | a line of a file: is kept\n    |       ^', '  3 | a line of a file: is kept\n    |       ^'],
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

describe('an error in a terminal', () => {
  it('wraps with hanging indents, and does not split commands', async () => {
    const error = new UsageError('The file acme.yaml cannot be used by this command.', {
      why: 'acme.yaml:3:9 is not a list.\n\n   3 |   name: a line that is longer than the terminal is wide, kept as it is\n     |         ^',
      hint: 'Fix it and run: partnerctl provision acme.yaml --dry-run',
    });
    const text = await formatError(error, { color: false, debug: false, columns: 40 });
    expect(text).toBe(
      [
        'error: The file acme.yaml cannot be used',
        '  by this command.',
        '  acme.yaml:3:9 is not a list.',
        '',
        '     3 |   name: a line that is longer than the terminal is wide, kept as it is',
        '       |         ^',
        'hint: Fix it and run:',
        '  partnerctl provision acme.yaml --dry-run',
        '',
      ].join('\n'),
    );
  });
});
