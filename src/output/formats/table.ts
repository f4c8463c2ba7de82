import type { Sink } from '../../platform/io.ts';
import { createPaint } from '../color.ts';
import type { TextRow } from '../column-widths.ts';
import type { ColumnLayout, ListResult, ObjectResult, ResultCell } from '../command-result.ts';
import { layOutRecord } from '../record-layout.ts';
import { withRelativeTimes } from '../relative-time.ts';
import { cellText } from '../sanitize.ts';
import { type CutColumns, layOutTable } from '../table-layout.ts';
import { wrapLine } from '../wrap.ts';

export interface TableOptions {
  readonly color: boolean;
  /** Whether to shorten nothing, and to show exact times. */
  readonly wide?: boolean | undefined;
  /** The current time, in milliseconds since the epoch. A terminal shows times relative to it. */
  readonly now?: number | undefined;
  /** Redacts each cell before it is shortened, because shortening could cut a secret in half. */
  readonly redact?: ((text: string) => string) | undefined;
}

/** What was written. */
export interface WrittenTable {
  readonly hasContent: boolean;
  /** A sentence about what the table does not show; '' if it shows everything. */
  readonly cut: string;
}

function toTextRow(
  cells: readonly ResultCell[],
  columns: readonly ColumnLayout[],
  { redact, now }: Pick<TableOptions, 'redact' | 'now'>,
): TextRow {
  const texts = cells.map(({ value }, index) => {
    const text = cellText(value, redact);
    return now !== undefined && columns[index]?.isTime ? withRelativeTimes(text, now) : text;
  });
  return { texts, tones: cells.map(({ tone }) => tone) };
}

function joinHeaders(headers: readonly string[]): string {
  return `${new Intl.ListFormat('en-US').format(headers)} ${headers.length === 1 ? 'is' : 'are'}`;
}

/** Says what a table does not show, and how to see it; '' if it shows everything. */
function describeCut({ shortened, leftOut }: CutColumns): string {
  const parts = [
    ...(shortened.length > 0 ? [`${joinHeaders(shortened)} shortened`] : []),
    ...(leftOut.length > 0 ? [`${joinHeaders(leftOut)} left out`] : []),
  ];
  return parts.length === 0 ? '' : `${parts.join(', and ')}. Add --wide to see everything.`;
}

/**
 * Writes a list as a table (as records in a narrow terminal) and an object as labeled lines. Reads all rows of a list
 * before it writes, because column widths depend on them; if reading fails, it writes nothing. Shortens text only in a
 * terminal.
 */
export async function writeTable(
  result: ListResult | ObjectResult,
  out: Sink,
  options: TableOptions,
): Promise<WrittenTable> {
  const { redact } = options;
  const paint = await createPaint(options.color);
  const isFitted = out.isTTY && !options.wide;
  const width = isFitted ? out.columns : Number.POSITIVE_INFINITY;
  const columns = result.columns.map((column) => ({ ...column, header: cellText(column.header, redact) }));
  if (result.kind === 'object') {
    const labels = columns.map(({ header }) => header);
    // Wrap only between words, so that people can copy ids and URLs.
    const lines = layOutRecord(labels, toTextRow(result.cells, columns, { redact }), {
      width,
      paint,
      wrapValue: wrapLine,
    });
    if (lines.length > 0) await out.write(`${lines.join('\n')}\n`);
    return { hasContent: lines.length > 0, cut: '' };
  }
  const rows: { sortIndex: number; row: TextRow }[] = [];
  const cellOptions = { redact, now: isFitted ? options.now : undefined };
  for await (const { sortIndex, cells } of result.rows) {
    rows.push({ sortIndex, row: toTextRow(cells, columns, cellOptions) });
  }
  const sorted = rows.toSorted((a, b) => a.sortIndex - b.sortIndex).map(({ row }) => row);
  let cut = '';
  const onLayout = (columns: CutColumns): void => {
    cut = describeCut(columns);
  };
  for await (const piece of layOutTable({ columns, rows: sorted }, width, paint, onLayout)) await out.write(piece);
  return { hasContent: rows.length > 0, cut };
}
