import stringWidth from 'string-width';
import { createPaint } from './color.ts';
import type { ReportLine } from './command-result.ts';
import { cellText } from './sanitize.ts';
import type { LayoutOptions } from './table.ts';
import { wrapLine } from './wrap.ts';

/**
 * Formats a report. Its lines wrap between words with a hanging indent; nothing is shortened.
 * @param width the maximum width of a line, or Infinity
 */
export async function formatReport(
  lines: readonly ReportLine[],
  { color, width, redact }: Pick<LayoutOptions, 'width' | 'redact' | 'color'>,
): Promise<string> {
  const paint = await createPaint(color);
  const layOut = ({ indent, marker, text, tone }: ReportLine): string => {
    const parts = typeof text === 'string' ? [{ text, tone }] : text;
    const painted = parts.map((part) => paint(cellText(part.text, redact), part.tone ?? tone)).join('');
    const label = marker === undefined ? '' : `${marker} `;
    const hanging = ' '.repeat(indent + stringWidth(label));
    const wrapped = wrapLine(painted, width - hanging.length);
    return `${' '.repeat(indent)}${paint(label, tone)}${wrapped.join(`\n${hanging}`)}\n`;
  };
  return lines.map(layOut).join('');
}
