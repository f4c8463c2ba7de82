import { stripVTControlCharacters } from 'node:util';
import stringWidth from 'string-width';
import { createLazily } from './create-lazily.ts';

/** Created on first use: it takes 20 ms, and most tables are plain ASCII. */
const graphemeSegmenter = createLazily(() => new Intl.Segmenter(undefined, { granularity: 'grapheme' }));
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
  for (const { segment } of graphemeSegmenter().segment(text))
    yield { text: segment, width: Math.max(1, stringWidth(segment)) };
}

/** The width of sanitized text in columns. */
export function displayWidth(text: string): number {
  if (PRINTABLE_ASCII.test(text)) return text.length;
  let width = 0;
  for (const grapheme of graphemes(text)) width += grapheme.width;
  return width;
}

/** Counts the screen lines of complete lines of text. Long lines take several. */
export function countScreenLines(text: string, columns: number): number {
  const lines = stripVTControlCharacters(text).split('\n').slice(0, -1);
  return lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(displayWidth(line) / columns)), 0);
}

/** The longest start of a text that is at most `width` columns wide. */
function head(text: string, width: number): string {
  if (PRINTABLE_ASCII.test(text)) return text.slice(0, width);
  let kept = '';
  let left = width;
  for (const grapheme of graphemes(text)) {
    left -= grapheme.width;
    if (left < 0) break;
    kept += grapheme.text;
  }
  return kept;
}

/** The longest end of a text that is at most `width` columns wide. */
function tail(text: string, width: number): string {
  if (PRINTABLE_ASCII.test(text)) return width === 0 ? '' : text.slice(-width);
  let kept = '';
  let left = width;
  for (const grapheme of [...graphemes(text)].reverse()) {
    left -= grapheme.width;
    if (left < 0) break;
    kept = grapheme.text + kept;
  }
  return kept;
}

/** Shortens text that is wider than `width` columns: replaces its end with `…`. Never splits a character. */
export function truncate(text: string, width: number): string {
  return displayWidth(text) <= width ? text : `${head(text, width - 1)}…`;
}

/** Shortens text that is wider than `width` columns: replaces its start with `…`. Never splits a character. */
export function truncateStart(text: string, width: number): string {
  return displayWidth(text) <= width ? text : `…${tail(text, width - 1)}`;
}

/** Shortens text that is wider than `width` columns: replaces its middle with `…`. Never splits a character. */
export function truncateMiddle(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  const end = tail(text, Math.floor(width / 2));
  return truncate(text, width - displayWidth(end)) + end;
}

/** Splits a grapheme into code points. Only for one whose combining marks make it wider than a line. */
function splitGrapheme(grapheme: Grapheme): Grapheme[] {
  return Array.from(grapheme.text, (text) => ({ text, width: Math.max(1, stringWidth(text)) }));
}

function joinText(parts: readonly Grapheme[]): string {
  return parts.map(({ text }) => text).join('');
}

/** Where to split a word that is wider than a line, if possible. */
const SEPARATOR = /[-_/.,:;=&?]/;

/** The index at which to end a full line: after its last space, else after a separator in its second half, else its end. */
function breakAt(line: readonly Grapheme[]): number {
  const afterSpace = line.findLastIndex(({ text }) => text === ' ') + 1;
  // A line of spaces alone would look empty.
  if (line.slice(0, afterSpace).some(({ text }) => text !== ' ')) return afterSpace;
  const afterSeparator = line.findLastIndex(({ text }) => SEPARATOR.test(text)) + 1;
  return afterSeparator > line.length / 2 ? afterSeparator : line.length;
}

/**
 * Wraps text into lines of at most `width` columns, which must be at least 2: after a space, which stays at the end of its
 * line, or within a word that is wider than a line (`wrapLine` keeps such a word intact).
 */
export function wrapToWidth(text: string, width: number): string[] {
  if (displayWidth(text) <= width) return [text];
  const lines: string[] = [];
  let line: Grapheme[] = [];
  let used = 0;
  const parts = Array.from(graphemes(text), (each) => (each.width > width ? splitGrapheme(each) : [each])).flat();
  for (const part of parts) {
    while (used + part.width > width) {
      const end = part.text === ' ' ? line.length : breakAt(line);
      lines.push(joinText(line.slice(0, end)));
      line = line.slice(end);
      used = line.reduce((sum, each) => sum + each.width, 0);
    }
    line.push(part);
    used += part.width;
  }
  return [...lines, joinText(line)];
}
