import stringWidth from 'string-width';

const GRAPHEMES = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const PRINTABLE_ASCII = /^[ -~]*$/;

/** A user-perceived character and the terminal columns it takes. */
interface Grapheme {
  readonly text: string;
  readonly width: number;
}

/**
 * The user-perceived characters of cleaned text. One without a width of its own (a combining mark that has nothing to
 * combine with) counts as one column, because terminals differ on it.
 */
export function* graphemes(text: string): Generator<Grapheme> {
  for (const { segment } of GRAPHEMES.segment(text)) yield { text: segment, width: Math.max(1, stringWidth(segment)) };
}

/** Columns that cleaned text takes. */
export function displayWidth(text: string): number {
  if (PRINTABLE_ASCII.test(text)) return text.length;
  let width = 0;
  for (const grapheme of graphemes(text)) width += grapheme.width;
  return width;
}

/** The text if it fits the width, else its beginning and `…`; never cuts through a character. */
export function truncate(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let kept = '';
  let used = 1;
  for (const grapheme of graphemes(text)) {
    used += grapheme.width;
    if (used > width) break;
    kept += grapheme.text;
  }
  return `${kept}…`;
}

/** A character in pieces, because marks piled upon marks can make a single one wider than a line. */
function pieces(grapheme: Grapheme): Grapheme[] {
  return Array.from(grapheme.text, (text) => ({ text, width: Math.max(1, stringWidth(text)) }));
}

/** The text in lines of at most `width` columns (2 or more), broken between characters. */
export function wrap(text: string, width: number): string[] {
  if (displayWidth(text) <= width) return [text];
  const lines: string[] = [];
  let line = '';
  let used = 0;
  const parts = Array.from(graphemes(text), (each) => (each.width > width ? pieces(each) : [each])).flat();
  for (const part of parts) {
    if (used + part.width > width) {
      lines.push(line);
      line = '';
      used = 0;
    }
    line += part.text;
    used += part.width;
  }
  return [...lines, line];
}
