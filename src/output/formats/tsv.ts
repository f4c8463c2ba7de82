import type { Sink } from '../../platform/io.ts';
import { pagesOf } from '../../platform/paged.ts';
import type { Cell, ListResult, ObjectResult, Row } from '../command-result.ts';
import { cellText } from '../sanitize.ts';

/** Formats cells as a line. */
export function tsvLine(cells: readonly Cell[]): string {
  return `${cells.map((cell) => cellText(cell)).join('\t')}\n`;
}

function rowLines({ cells, tsvLines }: Pick<Row, 'cells' | 'tsvLines'>): string {
  return tsvLines ? tsvLines.map(tsvLine).join('') : tsvLine(cells.map(({ value }) => value));
}

/**
 * Writes one line of tab-separated cells per row, without a header, as the rows arrive; the rows of a page in one write. An
 * object is one row.
 */
export async function writeTsv(result: ListResult | ObjectResult, out: Sink): Promise<void> {
  if (result.kind === 'object') return out.write(rowLines(result));
  for await (const page of pagesOf(result.rows)) {
    const text = page.map(rowLines).join('');
    if (text !== '') await out.write(text);
  }
}
