import type { TextRow } from './cells.ts';
import type { Paint } from './paint.ts';
import { truncated, widthOf, wrapped } from './width.ts';

/**
 * One item as lines of `label: value`, values aligned, and wrapped where they are wider than the terminal. What is
 * empty is left out.
 * @param labels one for each cell; an empty one leaves the value alone on its line
 * @param width columns to stay within; at least 8, or Infinity to wrap nothing
 */
export function card(labels: readonly string[], row: TextRow, width: number, paint: Paint): string[] {
  const widest = Math.max(0, ...labels.map(widthOf));
  const labelWidth = Math.min(widest, Math.floor(width / 2) - 2);
  const indent = widest === 0 ? 0 : labelWidth + 2;
  return row.texts.flatMap((text, index) => {
    if (text === '') return [];
    const label = truncated(labels[index] ?? '', labelWidth);
    const named = label === '' ? '' : `${label}:`;
    const lead = paint(named, 'dim') + ' '.repeat(indent - widthOf(named));
    return wrapped(text, width - indent).map((line, at) =>
      `${at === 0 ? lead : ' '.repeat(indent)}${paint(line, row.tones[index])}`.trimEnd(),
    );
  });
}
