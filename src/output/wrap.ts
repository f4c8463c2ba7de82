import { stripVTControlCharacters } from 'node:util';
import stringWidth from 'string-width';

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

/**
 * What is never split, so that people can copy it: an excerpt (a source line, or the carets below it), text in
 * backticks, a command at the end of a line, or a word such as a URL.
 */
const UNBREAKABLE = /^ *\d* +\| .*$|`[^`]*`\S*|(?<=(?:: |^)\s*)(?:partnerctl|git|npm) .*$|\S+/g;

/** The unit of outside text, in which a command is only words. */
export const WORD = /\S+/g;

/**
 * Wraps one line of sanitized or painted text. Never splits what `unit` matches, however narrow a line is.
 * @param width the maximum width of a line in columns, or Infinity to wrap nothing
 * @param indent the start of all lines but the first
 */
export function wrapLine(text: string, width: number, indent = '', unit = UNBREAKABLE): string[] {
  if (stringWidth(text) <= width) return [text];
  const lines: string[] = [];
  let line = '';
  let end = 0;
  for (const { 0: part, index } of text.matchAll(unit)) {
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

/** Wraps each line as `wrapLine` does. @param hanging the extra indentation of continued lines */
export function wrapText(text: string, width: number, hanging: string, unit = UNBREAKABLE): string {
  const wrap = (line: string) => wrapLine(line, width, `${/^ */.exec(line)?.[0]}${hanging}`, unit);
  return text.split('\n').flatMap(wrap).join('\n');
}
