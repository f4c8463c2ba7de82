import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderMarkdown } from '../../../src/output/markdown.ts';
import { anyCharacter } from '../../support/properties.ts';

const MARKED = {
  bold: (text: string) => `<b>${text}</b>`,
  italic: (text: string) => `<i>${text}</i>`,
  code: (text: string) => `<c>${text}</c>`,
  dim: (text: string) => text,
  heading: (text: string) => `<h>${text}</h>`,
};

describe('renderMarkdown', () => {
  it.each([
    ['plain', 'plain'],
    ['**bold** and *it*', '<b>bold</b> and <i>it</i>'],
    ['`a < b && c`', '<c>a < b && c</c>'],
    ['# Title\n\ntext', '<h>Title</h>\n\ntext'],
    ['- one\n- two\n  - deep', '• one\n• two\n  • deep'],
    ['3. three\n4. four', '3. three\n4. four'],
    ['- [x] done', '• [x] done'],
    ['> quoted\n> twice', '│ quoted\n│ twice'],
    ['```js\nlet a;\n```', '  <c>let a;</c>'],
    ['[text](https://example.com)', 'text (https://example.com)'],
    ['https://example.com', 'https://example.com'],
    ['| a | b |\n|---|---|\n| 1 | 2 |', '<b>a  b</b>\n1  2'],
    ['a &amp; b', 'a & b'],
    ['one\ntwo', 'one\ntwo'],
  ])('renders %j', async (markdown, shown) => {
    expect(await renderMarkdown(markdown, MARKED)).toBe(shown);
  });

  it.each([
    ['a paragraph', 'one two three\nfour five six', 'one two three four five\nsix'],
    ['a list item', '- one two three four five\n- six', '• one two three four\n  five\n• six'],
    ['a quote', '> one two three four five', '│ one two three four\n│ five'],
    ['no code', '```\none two three four five six\n```', '  <c>one two three four five six</c>'],
  ])('wraps %s at the width', async (_, markdown, shown) => {
    expect(await renderMarkdown(markdown, MARKED, 24)).toBe(shown);
  });

  it('aligns the columns of a table', async () => {
    const table = '| Code | Meaning |\n|---|---|\n| 130 | one two three four five |\n| 2 | six |';
    const shown = ['Code  Meaning', '130   one two three four', '      five', '2     six'];
    expect(await renderMarkdown(table, undefined, 26)).toBe(shown.join('\n'));
  });

  it('escapes control characters', async () => {
    const shown = await renderMarkdown('a\x1b[2J\r**b\x07** \u202e [x](https://e.example/\x1b]0;t\x07)');
    expect(shown).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]|\p{Bidi_Control}/u);
    expect(shown).toContain('\\x1b[2J');
  });

  it('renders a very long line', async () => {
    for (const text of ['*'.repeat(100_000), '['.repeat(100_000), 'a '.repeat(50_000)]) {
      expect((await renderMarkdown(text)).length).toBeGreaterThan(0);
    }
  });

  it('property: never outputs a control character', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: anyCharacter, maxLength: 300 }), async (text) => {
        expect(await renderMarkdown(text)).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
      }),
    );
  });
});
