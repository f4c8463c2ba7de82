import { Chalk } from 'chalk';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderMarkdown } from '../../../src/output/markdown.ts';
import { anyCharacter } from '../../support/properties.ts';

const plain = (text: string, width = 80, keepsBreaks = false) =>
  renderMarkdown(text, { chalk: new Chalk({ level: 0 }), width, keepsBreaks });

describe('renderMarkdown', () => {
  it.each([
    ['**bold** and *it* and `a < b`', 'bold and it and a < b'],
    ['# Title\n\ntext', 'Title\n\ntext'],
    ['- one\n- two\n  - deep', '• one\n• two\n  • deep'],
    ['3. three\n4. four', '3. three\n4. four'],
    ['```js\nlet a;\n```', '  let a;'],
    ['[text](https://example.com) https://example.com', 'text (https://example.com) https://example.com'],
  ])('renders %j', async (markdown, shown) => {
    expect(await plain(markdown)).toBe(shown);
  });

  it.each([
    ['a paragraph', 'one two three\nfour five six', 'one two three four five\nsix'],
    ['a list item', '- one two three four five\n- six', '• one two three four\n  five\n• six'],
    [
      'the last column of a table',
      '| A | B |\n|-|-|\n| 130 | one two three four five |',
      'A    B\n130  one two three four\n     five',
    ],
    ['no code', '```\none two three four five six\n```', '  one two three four five six'],
  ])('wraps %s at the width', async (_, markdown, shown) => {
    expect(await plain(markdown, 24)).toBe(shown);
  });

  it('keeps the line breaks of messages', async () => {
    expect(await plain('one\ntwo', 80, true)).toBe('one\ntwo');
  });

  it('property: never outputs a control character', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: anyCharacter, maxLength: 300 }), async (text) => {
        expect(await plain(text)).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]|\p{Bidi_Control}/u);
      }),
    );
  });
});
