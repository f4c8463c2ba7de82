import { stripVTControlCharacters } from 'node:util';
import stringWidth from 'string-width';

const PRINTABLE_ASCII = /^[ -~]*$/;

/** Counts the screen lines of complete lines of text. Long lines take several. */
export function countScreenLines(text: string, columns: number): number {
  const lines = stripVTControlCharacters(text).split('\n').slice(0, -1);
  return lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(stringWidth(line) / columns)), 0);
}

/** Shortens sanitized text to a width: `…` stands for its start or its end. Never splits a user-perceived character. */
export function shorten(text: string, width: number, side: 'start' | 'end'): string {
  if (stringWidth(text) <= width) return text;
  const characters = Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment);
  if (side === 'start') characters.reverse();
  let used = 1;
  const end = characters.findIndex((character) => {
    used += stringWidth(character);
    return used > width;
  });
  const kept = characters.slice(0, end);
  return side === 'start' ? `…${kept.reverse().join('')}` : `${kept.join('')}…`;
}

/** Never split, so that people can copy it: text in backticks, a command at the end of a line, or a word such as a URL. */
const UNBREAKABLE = /`[^`]*`\S*|(?<=(?:: |^)\s*)(?:partnerctl|git|npm) .*$|\S+/g;

/**
 * Wraps one line of sanitized text between words. Never splits a word or a command, even if it is wider than a line.
 * @param width the maximum width of a line in columns, or Infinity to wrap nothing
 * @param indent the start of all lines but the first
 */
export function wrapLine(text: string, width: number, indent = ''): string[] {
  if (stringWidth(text) <= width) return [text];
  const lines: string[] = [];
  let line = '';
  let end = 0;
  for (const { 0: part, index } of text.matchAll(UNBREAKABLE)) {
    const longer = line + text.slice(end, index) + part;
    if (line.trim() !== '' && stringWidth(longer) > width) {
      lines.push(line);
      line = indent + part;
    } else {
      line = longer;
    }
    end = index + part.length;
  }
  return [...lines, line];
}

/** A line of an excerpt, whose alignment matters; a source line, and the line below it that underlines a part. */
const EXCERPT = /^ *\d* +\| /;
const SOURCE_LINE = /^ *\d+ \| /;
const CARET_LINE = /^( *\| )( *)(\^+)$/;

/**
 * Cuts a source line to a width, around the start of its carets, with `…` where text was cut.
 * @returns undefined if the lines are not a source line and its carets
 */
function fitExcerpt(line: string, below: string, width: number): readonly [string, string] | undefined {
  const margin = SOURCE_LINE.exec(line)?.[0] ?? '';
  const [, start = '', { length: gap } = '', { length: carets } = ''] = CARET_LINE.exec(below) ?? [];
  if (margin === '' || start.length !== margin.length) return undefined;
  const room = width - margin.length;
  const text = line.slice(margin.length);
  if (text.length <= room || room < 3 || !PRINTABLE_ASCII.test(text)) return [line, below];
  const centered = gap - Math.floor((room - Math.min(carets, room - 2)) / 2);
  const from = Math.max(0, Math.min(centered, text.length - room));
  const [head, tail] = [from > 0 ? '…' : '', from + room < text.length ? '…' : ''];
  const shown = head + text.slice(from + head.length, from + room - tail.length) + tail;
  const underlined = Math.max(1, Math.min(carets, room - tail.length - (gap - from)));
  return [`${margin}${shown}`, `${start}${' '.repeat(gap - from)}${'^'.repeat(underlined)}`];
}

/**
 * Wraps each line of sanitized text between words. Cuts a source line with carets below it, and keeps other excerpts.
 * @param width the maximum width of a line in columns, or Infinity to wrap nothing
 * @param hanging the extra indentation of continued lines
 */
export function wrapText(text: string, width: number, hanging = ''): string {
  const wrapped: string[] = [];
  const lines = text.split('\n');
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    const excerpt = fitExcerpt(line, lines[at + 1] ?? '', width);
    if (excerpt) at += 1;
    const indent = /^ */.exec(line)?.[0] ?? '';
    wrapped.push(...(excerpt ?? (EXCERPT.test(line) ? [line] : wrapLine(line, width, indent + hanging))));
  }
  return wrapped.join('\n');
}
