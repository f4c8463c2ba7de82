import type { Cell, ObjectResult, Row } from '../command-result.ts';
import { cellText } from '../sanitize.ts';

/** Formats cells as a line, separated by tabs. */
export function tsvLine(cells: readonly Cell[]): string {
  return `${cells.map((cell) => cellText(cell)).join('\t')}\n`;
}

/** Formats an item as one line of its cells, or as its own lines. */
export function tsvLines(item: Row | ObjectResult): string {
  if ('tsvLines' in item && item.tsvLines) return item.tsvLines.map(tsvLine).join('');
  return tsvLine(item.cells.map(({ value }) => value));
}
