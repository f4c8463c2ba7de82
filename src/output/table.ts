import Table from 'cli-table3';
import stringWidth from 'string-width';
import { createPaint, type Paint } from './color.ts';
import type { ColumnLayout, ListResult, ObjectResult, ResultCell, Style } from './command-result.ts';
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

/** The clean texts of a row, one for each column of the list. */
type TextRow = readonly { readonly text: string; readonly style: Style | undefined }[];

/** A column that is shown, its position among all columns, and its width. */
interface ShownColumn extends ColumnLayout {
  readonly index: number;
  readonly width: number;
}

const GAP = '  ';

/** A shortened value that is narrower says nothing. */
const MIN_SHORTENED = 20;

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

function toTextRow(
  cells: readonly ResultCell[],
  columns: readonly ColumnLayout[],
  { redact, now }: LayoutOptions,
): TextRow {
  return cells.map(({ value, tone }, index) => {
    const text = cellText(value, redact);
    return { text: now !== undefined && columns[index]?.isTime ? withRelativeTimes(text, now) : text, style: tone };
  });
}

/** The columns that have values, with clean headers, as wide as their widest value. */
function shownColumns(
  columns: readonly ColumnLayout[],
  rows: readonly TextRow[],
  { isWide = false, redact }: LayoutOptions,
): readonly ShownColumn[] {
  return columns.flatMap((column, index) => {
    const width = rows.reduce((widest, row) => Math.max(widest, stringWidth(row[index]?.text ?? '')), 0);
    if (width === 0 || (column.isWide && !isWide)) return [];
    const header = cellText(column.header, redact);
    return [{ ...column, index, header, width: Math.max(width, stringWidth(header)) }];
  });
}

/** Narrows the widest columns that may be shortened. @returns undefined if the columns are too wide all the same */
function narrow(columns: readonly ShownColumn[], width: number): readonly ShownColumn[] | undefined {
  const narrowed = columns.map((column) => ({ ...column }));
  const natural = columns.reduce((sum, column) => sum + column.width + GAP.length, -GAP.length);
  for (let excess = natural - width; excess > 0; excess -= 1) {
    const shortened = narrowed.filter((column) => column.fit && column.width > MIN_SHORTENED);
    const [widest] = shortened.toSorted((a, b) => b.width - a.width);
    if (!widest) return undefined;
    widest.width -= 1;
  }
  return narrowed;
}

/**
 * Fits the columns of a table into a width: shortens those that may be shortened, then leaves out optional ones, from the last.
 * @returns undefined if they are too wide all the same
 */
function fitColumns(columns: readonly ShownColumn[], width: number): readonly ShownColumn[] | undefined {
  let fitted = columns;
  for (;;) {
    const narrowed = narrow(fitted, width);
    const last = fitted.findLast(({ isOptional }) => isOptional);
    if (narrowed || !last) return narrowed;
    fitted = fitted.filter((column) => column !== last);
  }
}

/** The cells of a row in these columns. */
function cellsOf(row: TextRow, columns: readonly ShownColumn[]): TextRow {
  return columns.flatMap(({ index }) => row[index] ?? []);
}

/** Lays out an item as lines of `LABEL: value` with aligned values, which wrap between words. Leaves out empty values. */
function layOutRecord(labels: readonly string[], cells: TextRow, { width, paint }: Layout): string[] {
  const filled = cells.map((cell, at) => ({ ...cell, label: labels[at] ? `${labels[at]}:` : '' }));
  const shown = filled.filter(({ text }) => text !== '');
  const labelWidth = Math.max(0, ...shown.map(({ label }) => stringWidth(label)));
  const indent = labelWidth === 0 ? 0 : labelWidth + 1;
  return shown.flatMap(({ label, text, style }) =>
    wrapLine(text, Math.max(width, MIN_RECORD_WIDTH) - indent).map((line, at) => {
      const lead = at === 0 ? label : '';
      return paint(lead, 'dim') + ' '.repeat(indent - stringWidth(lead)) + paint(line, style);
    }),
  );
}

/** Draws rows as columns without a frame, one line each. */
function drawLines(columns: readonly ShownColumn[], rows: readonly TextRow[], paint: Paint): string[] {
  const drawRow = (row: TextRow): string[] =>
    columns.map(({ width, fit }, at) => {
      const { text = '', style } = row[at] ?? {};
      const shown = fit === undefined ? text : shorten(text, width, fit);
      return paint(shown, style) + ' '.repeat(width - stringWidth(shown));
    });
  const lines: string[] = [];
  for (let from = 0; from < rows.length; from += CHUNK_SIZE) {
    const table = new Table(FRAMELESS);
    table.push(...rows.slice(from, from + CHUNK_SIZE).map(drawRow));
    lines.push(...table.toString().split('\n'));
  }
  return lines.map((line) => line.trimEnd());
}

function toText(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

/** Reads all rows of a list, in the order to show. */
async function readRows({ rows, columns }: Pick<ListResult, 'columns' | 'rows'>, options: LayoutOptions) {
  const read: { readonly sortIndex: number; readonly row: TextRow }[] = [];
  for await (const { sortIndex, cells } of rows) read.push({ sortIndex, row: toTextRow(cells, columns, options) });
  return read.toSorted((a, b) => a.sortIndex - b.sortIndex).map(({ row }) => row);
}

/**
 * Formats a list as a table with notes below the rows, or, if the table is too wide, as one record per item. Reads all rows.
 * @returns the text, '' without rows; and whether something is shortened or left out
 * @throws the error of the rows
 */
export async function formatTable(
  list: Pick<ListResult, 'columns' | 'rows'>,
  options: LayoutOptions,
): Promise<{ readonly text: string; readonly isCut: boolean }> {
  const rows = await readRows(list, options);
  const columns = shownColumns(list.columns, rows, options);
  if (columns.length === 0) return { text: '', isCut: false };
  const { width } = options;
  const layout = { width, paint: await createPaint(options.color) };
  const notes = columns.filter(({ isNote }) => isNote);
  const beside = columns.filter(({ isNote }) => !isNote);
  const fitted = fitColumns(beside, width);
  if (!fitted) {
    const labels = columns.map(({ header }) => header);
    const records = rows.map((row) => toText(layOutRecord(labels, cellsOf(row, columns), layout)));
    return { text: records.join('\n'), isCut: false };
  }
  const heading: TextRow = fitted.map(({ header }) => ({ text: header, style: 'heading' }));
  const [head = '', ...lines] = drawLines(fitted, [heading, ...rows.map((row) => cellsOf(row, fitted))], layout.paint);
  const drawn = rows.flatMap((row, at) => {
    const below = layOutRecord([], cellsOf(row, notes), { ...layout, width: width - GAP.length });
    return [lines[at] ?? '', ...below.map((line) => GAP + line)];
  });
  const isCut = fitted.length < beside.length || fitted.some((column, at) => column.width !== beside[at]?.width);
  return { text: toText(head === '' ? drawn : [head, ...drawn]), isCut };
}

/** Formats an object as lines of `LABEL: value`. Times are exact, and nothing is shortened. */
export async function formatObject({ columns, cells }: ObjectResult, options: LayoutOptions): Promise<string> {
  const row = toTextRow(cells, columns, { ...options, now: undefined });
  const shown = shownColumns(columns, [row], options);
  const labels = shown.map(({ header }) => header);
  const layout = { width: options.width, paint: await createPaint(options.color) };
  return toText(layOutRecord(labels, cellsOf(row, shown), layout));
}
