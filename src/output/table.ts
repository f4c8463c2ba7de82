import Table from 'cli-table3';
import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';
import { createPaint, type Paint } from './color.ts';
import type { ColumnLayout, ListResult, ObjectResult, ResultCell, Row } from './command-result.ts';
import { type Fitted, fitColumns, GAP, type TextRow } from './fit-columns.ts';
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

/** What is shown of columns, or of the cells of a row. */
function shownOf<Each>(
  each: readonly Each[],
  columns: readonly ColumnLayout[],
  { isWide = false }: LayoutOptions,
): readonly Each[] {
  return isWide ? each : each.filter((_, index) => !columns[index]?.isWide);
}

function toTextRow(
  cells: readonly ResultCell[],
  columns: readonly ColumnLayout[],
  { redact, now }: LayoutOptions,
): TextRow {
  const texts = cells.map(({ value }, index) => {
    const text = cellText(value, redact);
    return now !== undefined && columns[index]?.isTime ? withRelativeTimes(text, now) : text;
  });
  return { texts, tones: cells.map(({ tone }) => tone) };
}

/** Lays out an item as lines of `LABEL: value` with aligned values, which wrap between words. Leaves out empty values. */
function layOutRecord(
  labels: readonly string[],
  { texts, tones }: TextRow,
  { width, paint }: { readonly width: number; readonly paint: Paint },
): string[] {
  const shown = labels.map((label, index) => ({ label: label && `${label}:`, text: texts[index] ?? '', index }));
  const filled = shown.filter(({ text }) => text !== '');
  const widest = Math.max(0, ...filled.map(({ label }) => stringWidth(label)));
  const indent = widest === 0 ? 0 : widest + 1;
  return filled.flatMap(({ label, text, index }) =>
    wrapLine(text, Math.max(width, MIN_RECORD_WIDTH) - indent).map((line, at) => {
      const lead = at === 0 ? paint(label, 'dim') + ' '.repeat(indent - stringWidth(label)) : ' '.repeat(indent);
      return lead + paint(line, tones[index]);
    }),
  );
}

const PICTOGRAPH = /\p{Extended_Pictographic}/u;

/**
 * The width of a cell as cli-table3 may measure it, which knows an older Unicode version: it would cut a text that it takes for
 * wider than its column.
 */
function drawnWidth(cell: string): number {
  const widths = cell.split('\n').map((line) => {
    const isPlain = /^[ -~]*$/.test(line);
    return isPlain
      ? line.length
      : Array.from(line, (each) => (PICTOGRAPH.test(each) ? 2 : Math.max(each.length, stringWidth(each)))).reduce(
          (a, b) => a + b,
          0,
        );
  });
  return Math.max(...widths);
}

/** A row of a table: what it shows side by side, and the lines below. */
interface DrawnRow {
  readonly cells: readonly { readonly text: string; readonly style: Parameters<Paint>[1] }[];
  readonly below: readonly string[];
}

/** Draws rows as columns without a frame. */
function draw(rows: readonly DrawnRow[], paint: Paint): string[] {
  const colWidths = (rows[0]?.cells ?? []).map((_, at) =>
    rows.reduce((width, { cells }) => Math.max(width, drawnWidth(cells[at]?.text ?? '')), 1),
  );
  const lines: string[] = [];
  for (let from = 0; from < rows.length; from += CHUNK_SIZE) {
    const chunk = rows.slice(from, from + CHUNK_SIZE);
    const table = new Table({ ...FRAMELESS, colWidths });
    table.push(...chunk.map(({ cells }) => cells.map(({ text, style }) => paint(text, style))));
    const drawn = table.toString().split('\n');
    for (const { cells, below } of chunk) {
      const height = Math.max(...cells.map(({ text }) => text.split('\n').length));
      lines.push(...drawn.splice(0, height).map((line) => line.trimEnd()), ...below);
    }
  }
  return lines;
}

function drawTable(
  columns: readonly ColumnLayout[],
  rows: readonly TextRow[],
  { beside, below }: Fitted,
  { width, paint }: { readonly width: number; readonly paint: Paint },
): string[] {
  const fitted = (texts: readonly string[]) =>
    beside.map(({ column: { fit }, index, width: columnWidth }) => {
      const text = texts[index] ?? '';
      if (fit === 'start' || fit === 'end') return shorten(text, columnWidth, fit);
      return stringWidth(text) <= columnWidth ? text : wrapAnsi(text, columnWidth);
    });
  const headers = columns.map(({ header }) => header);
  const labels = below.map(({ index }) => (below.length === 1 ? '' : (headers[index] ?? '')));
  const heading = fitted(headers).map((text) => ({ text, style: 'heading' as const }));
  const drawn = rows.map(({ texts, tones }): DrawnRow => {
    const note = {
      texts: below.map(({ index }) => texts[index] ?? ''),
      tones: below.map(({ index }) => tones[index]),
    };
    return {
      cells: fitted(texts).map((text, at) => ({ text, style: tones[beside[at]?.index ?? at] })),
      below: layOutRecord(labels, note, { width: width - GAP.length, paint }).map((line) => `${GAP}${line}`),
    };
  });
  const hasHeading = headers.some((header) => header !== '');
  return draw(hasHeading ? [{ cells: heading, below: [] }, ...drawn] : drawn, paint);
}

function joinHeaders(columns: readonly { readonly column: ColumnLayout }[]): string {
  const headers = columns.map(({ column }) => column.header);
  return `${new Intl.ListFormat('en-US').format(headers)} ${headers.length === 1 ? 'is' : 'are'}`;
}

/** Says what a table does not show, and how to see it; '' if it shows everything. */
function describeCut({ beside, leftOut }: Fitted): string {
  const shortened = beside.filter(
    ({ column: { fit }, width, natural }) => width < natural && (fit === 'start' || fit === 'end'),
  );
  const parts = [
    ...(shortened.length > 0 ? [`${joinHeaders(shortened)} shortened`] : []),
    ...(leftOut.length > 0 ? [`${joinHeaders(leftOut)} left out`] : []),
  ];
  return parts.length === 0 ? '' : `${parts.join(', and ')}. Add --wide to see everything.`;
}

function toText(lines: readonly string[]): string {
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

/** Reads all rows of a list, in the order to show. */
async function readRows(
  rows: AsyncIterable<Row>,
  columns: readonly ColumnLayout[],
  options: LayoutOptions,
): Promise<TextRow[]> {
  const read: { readonly sortIndex: number; readonly row: TextRow }[] = [];
  const shown = shownOf(columns, columns, options);
  for await (const { sortIndex, cells } of rows) {
    read.push({ sortIndex, row: toTextRow(shownOf(cells, columns, options), shown, options) });
  }
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
  const all = list.columns.map((column) => ({ ...column, header: cellText(column.header, options.redact) }));
  const columns = shownOf(all, all, options);
  const rows = await readRows(list.rows, all, options);
  if (rows.length === 0 || columns.length === 0) return { text: '', cut: '' };
  const layout = { width: options.width, paint: await createPaint(options.color) };
  const fitted = fitColumns(columns, rows, options.width);
  if (fitted) return { text: toText(drawTable(columns, rows, fitted, layout)), cut: describeCut(fitted) };
  const labels = columns.map(({ header }) => header);
  return { text: rows.map((row) => toText(layOutRecord(labels, row, layout))).join('\n'), cut: '' };
}

/** Formats an object as lines of `LABEL: value`. Times are exact, and nothing is shortened. */
export async function formatObject(object: ObjectResult, options: LayoutOptions): Promise<string> {
  const columns = shownOf(object.columns, object.columns, options);
  const labels = columns.map(({ header }) => cellText(header, options.redact));
  const row = toTextRow(shownOf(object.cells, object.columns, options), columns, { ...options, now: undefined });
  return toText(layOutRecord(labels, row, { width: options.width, paint: await createPaint(options.color) }));
}
