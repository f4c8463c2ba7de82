import type { Sink } from '../../cli/io.ts';
import { createPaint } from '../color.ts';
import type { ListResult, ObjectResult, ResultCell } from '../command-result.ts';
import { layOutCard, layOutTable, type TextRow } from '../table-layout.ts';
import { cellText } from './tsv.ts';

interface TableOptions {
  readonly color: boolean;
  /** Redacts each cell before it is shortened, because shortening could cut a secret in half. */
  readonly redact?: ((text: string) => string) | undefined;
}

function toTextRow(cells: readonly ResultCell[], redact: TableOptions['redact']): TextRow {
  return {
    texts: cells.map(({ value }) => cellText(value, redact)),
    tones: cells.map(({ tone }) => tone),
    noTruncate: cells.map(({ noTruncate }) => noTruncate),
    truncateMiddle: cells.map(({ truncateMiddle }) => truncateMiddle),
    isOptional: cells.map(({ isOptional }) => isOptional),
  };
}

/**
 * Writes a list as a table (as cards in a narrow terminal) and an object as labeled lines. Reads all rows of a list
 * before it writes, because column widths depend on them; if reading fails, it writes nothing. Shortens text only in a
 * terminal.
 * @returns whether it wrote any content
 */
export async function writeTable(
  result: ListResult | ObjectResult,
  out: Sink,
  options: TableOptions,
): Promise<boolean> {
  const paint = await createPaint(options.color);
  if (result.kind === 'object') {
    const labels = result.cells.map(({ header }) => cellText(header, options.redact));
    // Do not wrap, so that people can copy ids and URLs.
    const lines = layOutCard(labels, toTextRow(result.cells, options.redact), Number.POSITIVE_INFINITY, paint);
    if (lines.length > 0) await out.write(`${lines.join('\n')}\n`);
    return lines.length > 0;
  }
  const rows: { sortIndex: number; row: TextRow }[] = [];
  for await (const { sortIndex, cells } of result.rows) rows.push({ sortIndex, row: toTextRow(cells, options.redact) });
  const sorted = rows.toSorted((a, b) => a.sortIndex - b.sortIndex).map(({ row }) => row);
  const headers = result.headers.map((header) => cellText(header, options.redact));
  const width = out.isTTY ? out.columns : Number.POSITIVE_INFINITY;
  for await (const piece of layOutTable({ headers, rows: sorted }, width, paint)) await out.write(piece);
  return rows.length > 0;
}
