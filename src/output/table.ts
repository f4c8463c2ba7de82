import Table from 'cli-table3';
import stringWidth from 'string-width';
import { createPaint, type Paint } from './color.ts';
import type { ColumnLayout, ListResult, ObjectResult, ResultCell, Row, Style } from './command-result.ts';
import { type Fitted, fitColumns, GAP, type TextRow, widest } from './fit-columns.ts';
import { withRelativeTimes } from './relative-time.ts';
import { cellText } from './sanitize.ts';
import { shorten, wrapLine } from './wrap.ts';

export interface LayoutOptions {
  /** The maximum width of a line, or Infinity to shorten and wrap nothing. */
  readonly width: number;
  readonly color: boolean;
  /** Whether columns that are only for --wide are shown. */
  readonly isWide?: boolean | undefined;
  /** The current time, in milliseconds since the epoch. Lists show times relative to it. */
  readonly now?: number | undefined;
  /** Redacts each cell before it is shortened, because shortening could cut a secret in half. */
  readonly redact?: ((text: string) => string) | undefined;
}

interface Layout {
  readonly width: number;
  readonly paint: Paint;
}

/** Narrower records would wrap almost every word. */
const MIN_RECORD_WIDTH = 20;

/** The number of rows to draw at a time: the time that cli-table3 takes grows with the square. */
const CHUNK_SIZE = 100;

const EDGES = ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'];
const LINES = ['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid'];
const FRAMELESS: Table.TableConstructorOptions = {
  chars: { ...Object.fromEntries([...EDGES, ...LINES].map((name) => [name, ''])), middle: GAP },
  style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
};

/** The texts of a row's cells, without those of columns that are not shown. */
function toTextRow(
  cells: readonly ResultCell[],
  columns: readonly ColumnLayout[],
  { redact, now, isWide = false }: LayoutOptions,
): TextRow {
  const placed = cells.map((cell, at) => ({ ...cell, column: columns[at] }));
  const shown = placed.filter(({ column }) => isWide || !column?.isWide);
  const texts = shown.map(({ value, column }) => {
    const text = cellText(value, redact);
    return now !== undefined && column?.isTime ? withRelativeTimes(text, now) : text;
  });
  return { texts, tones: shown.map(({ tone }) => tone) };
}

/** The columns to show, with clean headers. */
function shownColumns(columns: readonly ColumnLayout[], { isWide = false, redact }: LayoutOptions): ColumnLayout[] {
  const shown = columns.filter((column) => isWide || !column.isWide);
  return shown.map((column) => ({ ...column, header: cellText(column.header, redact) }));
}

/** Lays out an item as lines of `LABEL: value` with aligned values, which wrap between words. Leaves out empty values. */
function layOutRecord(labels: readonly string[], { texts, tones }: TextRow, { width, paint }: Layout): string[] {
  const shown = labels.map((label, index) => ({ label: label && `${label}:`, text: texts[index] ?? '', index }));
  const filled = shown.filter(({ text }) => text !== '');
  const labelWidth = Math.max(0, ...filled.map(({ label }) => stringWidth(label)));
  const indent = labelWidth === 0 ? 0 : labelWidth + 1;
  return filled.flatMap(({ label, text, index }) =>
    wrapLine(text, Math.max(width, MIN_RECORD_WIDTH) - indent).map((line, at) => {
      const lead = at === 0 ? paint(label, 'dim') + ' '.repeat(indent - stringWidth(label)) : ' '.repeat(indent);
      return lead + paint(line, tones[index]);
    }),
  );
}

/** A row of a table: the lines of its cells side by side, and the lines below. */
interface DrawnRow {
  readonly cells: readonly { readonly lines: readonly string[]; readonly style: Style | undefined }[];
  readonly below: readonly string[];
}

/** Draws rows as columns without a frame. */
function draw(rows: readonly DrawnRow[], paint: Paint): string[] {
  const widths = (rows[0]?.cells ?? []).map((_, at) => widest(rows.flatMap(({ cells }) => cells[at]?.lines ?? [])));
  const lines: string[] = [];
  for (let from = 0; from < rows.length; from += CHUNK_SIZE) {
    const chunk = rows.slice(from, from + CHUNK_SIZE);
    const table = new Table(FRAMELESS);
    const drawCell = ({ lines: [first = '', ...rest], style }: DrawnRow['cells'][number], at: number): string =>
      [
        paint(first, style) + ' '.repeat((widths[at] ?? 0) - stringWidth(first)),
        ...rest.map((line) => paint(line, style)),
      ].join('\n');
    table.push(...chunk.map(({ cells }) => cells.map(drawCell)));
    const drawn = table.toString().split('\n');
    for (const { cells, below } of chunk) {
      const height = Math.max(...cells.map((cell) => cell.lines.length));
      lines.push(...drawn.splice(0, height).map((line) => line.trimEnd()), ...below);
    }
  }
  return lines;
}

function drawTable(
  columns: readonly ColumnLayout[],
  rows: readonly TextRow[],
  { beside, below }: Fitted,
  { width, paint }: Layout,
): string[] {
  const fitted = (texts: readonly string[], styles: readonly (Style | undefined)[]): DrawnRow['cells'] =>
    beside.map(({ column: { fit }, index, width: columnWidth }) => {
      const text = texts[index] ?? '';
      const isShortened = fit === 'start' || fit === 'end';
      const lines = isShortened ? [shorten(text, columnWidth, fit)] : wrapLine(text, columnWidth);
      return { lines, style: styles[index] };
    });
  const headers = columns.map(({ header }) => header);
  const labels = below.map(({ index }) => (below.length === 1 ? '' : (headers[index] ?? '')));
  const heading = {
    cells: fitted(
      headers,
      headers.map(() => 'heading' as const),
    ),
    below: [],
  };
  const drawn = rows.map(({ texts, tones }): DrawnRow => {
    const notes = {
      texts: below.map(({ index }) => texts[index] ?? ''),
      tones: below.map(({ index }) => tones[index]),
    };
    const lines = layOutRecord(labels, notes, { width: width - GAP.length, paint });
    return { cells: fitted(texts, tones), below: lines.map((line) => GAP + line) };
  });
  return draw(headers.some((header) => header !== '') ? [heading, ...drawn] : drawn, paint);
}

function joinHeaders(columns: Fitted['leftOut']): string {
  const headers = columns.map(({ column }) => column.header);
  return `${new Intl.ListFormat('en-US').format(headers)} ${headers.length === 1 ? 'is' : 'are'}`;
}

/** Says what a table does not show, and how to see it; '' if it shows everything. */
function describeCut({ beside, leftOut }: Fitted): string {
  const shortened = beside.filter(
    ({ column: { fit }, width, natural }) => width < natural && /start|end/.test(fit ?? ''),
  );
  const parts = [
    ...(shortened.length > 0 ? [`${joinHeaders(shortened)} shortened`] : []),
    ...(leftOut.length > 0 ? [`${joinHeaders(leftOut)} left out`] : []),
  ];
  return parts.length === 0 ? '' : `${parts.join(', and ')}. Add --wide to see everything.`;
}

function toText(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

/** Reads all rows of a list, in the order to show. */
async function readRows({ rows, columns }: Pick<ListResult, 'columns' | 'rows'>, options: LayoutOptions) {
  const read: (Pick<Row, 'sortIndex'> & { readonly row: TextRow })[] = [];
  for await (const { sortIndex, cells } of rows) read.push({ sortIndex, row: toTextRow(cells, columns, options) });
  return read.toSorted((a, b) => a.sortIndex - b.sortIndex).map(({ row }) => row);
}

/**
 * Formats a list as a table, or as one record per item if a word would have to be split. Reads all rows.
 * @returns the text, '' without rows; and a sentence about what it does not show, '' if it shows everything
 * @throws the error of the rows
 */
export async function formatTable(
  list: Pick<ListResult, 'columns' | 'rows'>,
  options: LayoutOptions,
): Promise<{ readonly text: string; readonly cut: string }> {
  const columns = shownColumns(list.columns, options);
  const rows = await readRows(list, options);
  if (rows.length === 0 || columns.length === 0) return { text: '', cut: '' };
  const layout = { width: options.width, paint: await createPaint(options.color) };
  const fitted = fitColumns(columns, rows, options.width);
  if (fitted) return { text: toText(drawTable(columns, rows, fitted, layout)), cut: describeCut(fitted) };
  const labels = columns.map(({ header }) => header);
  return { text: rows.map((row) => toText(layOutRecord(labels, row, layout))).join('\n'), cut: '' };
}

/** Formats an object as lines of `LABEL: value`. Times are exact, and nothing is shortened. */
export async function formatObject({ columns, cells }: ObjectResult, options: LayoutOptions): Promise<string> {
  const labels = shownColumns(columns, options).map(({ header }) => header);
  const row = toTextRow(cells, columns, { ...options, now: undefined });
  return toText(layOutRecord(labels, row, { width: options.width, paint: await createPaint(options.color) }));
}
