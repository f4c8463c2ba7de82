import type { Paint } from './color.ts';
import type { TextRow } from './column-widths.ts';
import { displayWidth, truncate, wrapToWidth } from './width.ts';

interface RecordOptions {
  /** The maximum width of a line (at least 8), or Infinity to wrap nothing. */
  readonly width: number;
  readonly paint: Paint;
  /** Splits a value into lines; `wrapToWidth` by default. */
  readonly wrapValue?: (text: string, width: number) => readonly string[];
}

/**
 * Lays out an item as lines of `label: value` with aligned, wrapped values. Ignores empty values and their labels.
 * @param labels one per cell; a value with an empty label has no `label:` prefix
 */
export function layOutRecord(
  labels: readonly string[],
  row: TextRow,
  { width, paint, wrapValue = wrapToWidth }: RecordOptions,
): string[] {
  const widest = Math.max(0, ...labels.filter((_, index) => row.texts[index] !== '').map(displayWidth));
  const labelWidth = Math.min(widest, Math.floor(width / 2) - 2);
  const indent = widest === 0 ? 0 : labelWidth + 2;
  return row.texts.flatMap((text, index) => {
    if (text === '') return [];
    const label = truncate(labels[index] ?? '', labelWidth);
    const named = label === '' ? '' : `${label}:`;
    const lead = paint(named, 'dim') + ' '.repeat(indent - displayWidth(named));
    return wrapValue(text, width - indent).map((line, at) =>
      `${at === 0 ? lead : ' '.repeat(indent)}${paint(at === 0 ? line.trimEnd() : line.trim(), row.tones[index])}`.trimEnd(),
    );
  });
}
