import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';
import { createPaint, type Paint } from './color.ts';
import type { ReportLine, TonedText } from './command-result.ts';
import { cellText } from './sanitize.ts';
import type { LayoutOptions } from './table.ts';

/** The minimum width of text, however deep it is indented. */
const MIN_TEXT_WIDTH = 20;

/** Wraps a line of painted text between words. @param width Infinity to wrap nothing */
function wrapPainted(text: string, width: number): string[] {
  return width === Number.POSITIVE_INFINITY ? [text] : wrapAnsi(text, Math.max(MIN_TEXT_WIDTH, width)).split('\n');
}

/** Paints the parts of a text, and wraps its lines between words with a hanging indent. @returns complete lines */
export function layOutText(parts: TonedText, width: number, paint: Paint): string {
  const text = typeof parts === 'string' ? parts : parts.map((part) => paint(part.text, part.tone)).join('');
  if (text === '') return '';
  const lines = text.replace(/\n$/, '').split('\n');
  const wrapped = lines.flatMap((line) => {
    const indent = /^ */.exec(line)?.[0] ?? '';
    const hanging = `${indent}  `;
    return wrapPainted(line.slice(indent.length), width - hanging.length).map((each, at) =>
      `${at === 0 ? indent : hanging}${each}`.trimEnd(),
    );
  });
  return `${wrapped.join('\n')}\n`;
}

function layOutLine(
  { indent, marker, text, tone }: ReportLine,
  paint: Paint,
  { width, redact }: Pick<LayoutOptions, 'width' | 'redact'>,
): string {
  const parts = typeof text === 'string' ? [{ text, tone }] : text;
  const painted = parts.map((part) => paint(cellText(part.text, redact), part.tone ?? tone)).join('');
  const label = marker === undefined ? '' : `${marker} `;
  const hanging = ' '.repeat(indent + stringWidth(label));
  const lead = ' '.repeat(indent) + paint(label, tone);
  const lines = wrapPainted(painted, width - hanging.length);
  return lines.map((line, at) => `${at === 0 ? lead : hanging}${line}\n`).join('');
}

/** Formats a report. Its lines wrap between words with a hanging indent; nothing is shortened. */
export async function formatReport(
  lines: readonly ReportLine[],
  { color, ...layout }: Pick<LayoutOptions, 'width' | 'redact' | 'color'>,
): Promise<string> {
  const paint = await createPaint(color);
  return lines.map((line) => layOutLine(line, paint, layout)).join('');
}
