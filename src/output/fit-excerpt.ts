import { displayWidth, graphemes } from './width.ts';

/** A source line, and the line below it that underlines a part. */
const SOURCE_LINE = /^ *\d+ \| /;
const CARET_LINE = /^( *\| )( *)(\^+)$/;

/** The part of a text between two columns. Leaves out a character that only partly is. */
function sliceColumns(text: string, from: number, to: number): string {
  let column = 0;
  let part = '';
  for (const grapheme of graphemes(text)) {
    const end = column + grapheme.width;
    if (column >= from && end <= to) part += grapheme.text;
    column = end;
  }
  return part;
}

/**
 * Cuts a source line and its carets to a width, around the start of the carets, with `…` where text was cut.
 * @returns undefined if the lines are not a source line and its carets
 */
export function fitExcerpt(line: string, below: string, width: number): readonly [string, string] | undefined {
  const margin = SOURCE_LINE.exec(line)?.[0] ?? '';
  const [, start = '', gap = '', carets = ''] = CARET_LINE.exec(below) ?? [];
  const room = width - margin.length;
  if (margin === '' || start.length !== margin.length || room < 3) return undefined;
  const text = line.slice(margin.length);
  const total = displayWidth(text);
  if (Math.max(total, gap.length + carets.length) <= room) return [line, below];
  const shown = Math.min(carets.length, room - 2);
  const centered = gap.length - Math.floor((room - shown) / 2);
  const from = Math.max(0, Math.min(centered, total - room));
  const head = from > 0 ? '…' : '';
  const tail = total > from + room ? '…' : '';
  const before = head + sliceColumns(text, from + head.length, gap.length);
  const after = sliceColumns(text, gap.length, from + room - tail.length) + tail;
  const underlined = Math.max(1, Math.min(carets.length, displayWidth(after) - tail.length));
  return [`${margin}${before}${after}`, `${start}${' '.repeat(displayWidth(before))}${'^'.repeat(underlined)}`];
}
