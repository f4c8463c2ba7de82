import stringWidth from 'string-width';

const GRAPHEMES = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const PRINTABLE_ASCII = /^[ -~]*$/;

/** A user-perceived character and its width in terminal columns. */
interface Grapheme {
  readonly text: string;
  readonly width: number;
}

/**
 * Splits sanitized text into user-perceived characters. Counts a zero-width character (such as a lone combining mark)
 * as one column, because terminals differ.
 */
export function* graphemes(text: string): Generator<Grapheme> {
  for (const { segment } of GRAPHEMES.segment(text)) yield { text: segment, width: Math.max(1, stringWidth(segment)) };
}

/** The width of sanitized text in columns. */
export function displayWidth(text: string): number {
  if (PRINTABLE_ASCII.test(text)) return text.length;
  let width = 0;
  for (const grapheme of graphemes(text)) width += grapheme.width;
  return width;
}

/** Shortens text that is wider than `width` columns, and ends it with `…`. Never splits a character. */
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

/** Shortens text that is wider than `width` columns by its middle, in place of which there is `…`. Never splits a character. */
export function truncateMiddle(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  const half = Math.floor(width / 2);
  let end = '';
  let left = half;
  for (const grapheme of [...graphemes(text)].reverse()) {
    left -= grapheme.width;
    if (left < 0) break;
    end = grapheme.text + end;
  }
  return truncate(text, width - displayWidth(end)) + end;
}

/** Splits a grapheme into code points. Only for one that is wider than a line because of its many combining marks. */
function splitGrapheme(grapheme: Grapheme): Grapheme[] {
  return Array.from(grapheme.text, (text) => ({ text, width: Math.max(1, stringWidth(text)) }));
}

function joinText(parts: readonly Grapheme[]): string {
  return parts.map(({ text }) => text).join('');
}

/**
 * Wraps text into lines of at most `width` columns: after a space, which stays at the end of its line, or within a word
 * that is wider than a line. `width` must be at least 2.
 */
export function wrap(text: string, width: number): string[] {
  if (displayWidth(text) <= width) return [text];
  const lines: string[] = [];
  let line: Grapheme[] = [];
  let used = 0;
  const parts = Array.from(graphemes(text), (each) => (each.width > width ? splitGrapheme(each) : [each])).flat();
  for (const part of parts) {
    if (used + part.width > width) {
      const afterSpace = part.text === ' ' ? 0 : line.findLastIndex((each) => each.text === ' ') + 1;
      const rest = afterSpace === 0 ? [] : line.slice(afterSpace);
      lines.push(joinText(line.slice(0, line.length - rest.length)));
      line = rest;
      used = rest.reduce((sum, each) => sum + each.width, 0);
    }
    line.push(part);
    used += part.width;
  }
  return [...lines, joinText(line)];
}
