import { fitExcerpt } from './fit-excerpt.ts';
import { displayWidth } from './width.ts';

/** Never split, so that people can copy it: text in backticks, a command at the end of a line, or a word such as a URL. */
const UNBREAKABLE = /`[^`]*`\S*|(?<=(?:: |^)\s*)(?:partnerctl|git|npm) .*$|\S+/g;

/** A line of an excerpt, whose alignment matters. */
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
    wrapped.push(...(excerpt ?? (EXCERPT.test(line) ? [line] : wrapLine(line, width, indentOf(line) + hanging))));
  }
  return wrapped.join('\n');
}
