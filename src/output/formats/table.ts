import type { Sink } from '../../cli/io.ts';
import { cellText, type TextRow, toTextRow } from '../cells.ts';
import { createPaint } from '../color.ts';
import type { ListResult, ObjectResult } from '../command-result.ts';
import { layOutCard, layOutTable } from '../table-layout.ts';

interface TableOptions {
  readonly color: boolean;
  /** Applied to each cell before it is cut to its column, which could leave half a secret to be seen. */
  readonly redact?: ((text: string) => string) | undefined;
}

/**
 * A list as a table (as cards where it is narrow), an object as labelled lines. A list is written once its rows are
 * through: they are ordered by sortIndex, widths depend on them all, and a failure leaves stdout empty. Only the cleaned
 * cells are held. Outside a terminal nothing is cut.
 * @returns whether there was anything to show
 */
export async function writeTable(
  answer: ListResult | ObjectResult,
  out: Sink,
  options: TableOptions,
): Promise<boolean> {
  const paint = await createPaint(options.color);
  if (answer.kind === 'object') {
    const labels = answer.cells.map(({ header }) => cellText(header, options.redact));
    // Never wrapped, so that an id or an address can be copied whole.
    const lines = layOutCard(labels, toTextRow(answer.cells, options.redact), Number.POSITIVE_INFINITY, paint);
    if (lines.length > 0) await out.write(`${lines.join('\n')}\n`);
    return lines.length > 0;
  }
  const ranked: { sortIndex: number; row: TextRow }[] = [];
  for await (const { sortIndex, cells } of answer.rows)
    ranked.push({ sortIndex, row: toTextRow(cells, options.redact) });
  const rows = ranked.toSorted((a, b) => a.sortIndex - b.sortIndex).map(({ row }) => row);
  const headers = answer.headers.map((header) => cellText(header, options.redact));
  const width = out.isTTY ? out.columns : Number.POSITIVE_INFINITY;
  for await (const piece of layOutTable({ headers, rows }, width, paint)) await out.write(piece);
  return rows.length > 0;
}
