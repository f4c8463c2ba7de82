import type { Span } from './finding.ts';
import { shown } from './shown.ts';
import type { SourceText } from './source-text.ts';

const WIDEST = 120;
const BEFORE_CARET = 60;

const INVISIBLE = /^\p{M}$/u;
const WIDE =
  /^[\u1100-\u115F\u2E80-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\u9FFF\uA000-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{17000}-\u{18AFF}\u{1B000}-\u{1B2FF}\u{20000}-\u{3FFFD}\p{Emoji_Presentation}]$/u;

/** How many terminal cells a text takes, near enough to put a caret under a character. */
function cells(text: string): number {
  let width = 0;
  for (const character of text) {
    if (!INVISIBLE.test(character)) width += WIDE.test(character) ? 2 : 1;
  }
  return width;
}

/**
 * The source line of a finding and a line of carets under it, with the line's number in a gutter.
 * A long line is clipped around the carets; nothing in it can steer a terminal.
 */
export function excerpt(source: SourceText, { offset, length }: Span): string {
  const { line } = source.position(offset);
  const { start, end } = source.lineSpan(line);
  const at = Math.min(offset, end);
  const from = at - start > WIDEST - BEFORE_CARET ? at - BEFORE_CARET : start;
  const to = end - from > WIDEST ? from + WIDEST : end;
  const before = `${from > start ? '…' : ''}${shown(source.text.slice(from, at))}`;
  const after = `${shown(source.text.slice(at, to))}${to < end ? '…' : ''}`;
  const marked = shown(source.text.slice(at, Math.min(to, at + Math.max(length, 1))));
  const number = String(line).padStart(4);
  const gap = ' '.repeat(cells(before));
  const carets = '^'.repeat(Math.max(1, cells(marked)));
  return `${number} | ${before}${after}\n${' '.repeat(number.length)} | ${gap}${carets}`;
}
