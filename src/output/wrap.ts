import { displayWidth } from './width.ts';

/** Never split, so that people can copy it: text in backticks, a command at the end of a line, or a word such as a URL. */
const UNBREAKABLE = /`[^`]*`\S*|(?<=(?:: |^)\s*)(?:partnerctl|git|npm) .*$|\S+/g;

/** A line of a source excerpt, whose alignment matters. */
const EXCERPT = /^ *\d* +\| /;

/** The indentation of a line of text. */
function indentOf(line: string): string {
  return /^ */.exec(line)?.[0] ?? '';
}

/**
 * Wraps one line of sanitized text between words. Never splits a word or a command, even if it is wider than a line.
 * @param width the maximum width of a line in columns, or Infinity to wrap nothing
 * @param indent the start of all lines but the first
 */
export function wrapLine(text: string, width: number, indent = ''): string[] {
  if (displayWidth(text) <= width) return [text];
  const lines: string[] = [];
  let line = '';
  let used = 0;
  let end = 0;
  for (const { 0: part, index } of text.matchAll(UNBREAKABLE)) {
    const space = text.slice(end, index);
    const added = displayWidth(space) + displayWidth(part);
    if (line.trim() !== '' && used + added > width) {
      lines.push(line);
      line = indent + part;
      used = displayWidth(line);
    } else {
      line += space + part;
      used += added;
    }
    end = index + part.length;
  }
  return [...lines, line];
}

/**
 * Wraps each line of sanitized text between words, except in source excerpts.
 * @param width the maximum width of a line in columns, or Infinity to wrap nothing
 * @param hanging the extra indentation of continued lines
 */
export function wrapText(text: string, width: number, hanging = ''): string {
  return text
    .split('\n')
    .flatMap((line) => (EXCERPT.test(line) ? [line] : wrapLine(line, width, indentOf(line) + hanging)))
    .join('\n');
}
