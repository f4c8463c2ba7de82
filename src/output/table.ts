import Table from 'cli-table3';
import ms from 'ms';
import stringWidth from 'string-width';
import { createPaint, type Paint } from './color.ts';
import type { ColumnLayout, ListResult, ObjectResult, ResultCell, Style } from './command-result.ts';
import { cellText } from './sanitize.ts';
import { shorten, wrapLine } from './wrap.ts';

export interface LayoutOptions {
  /** The maximum width of a line, or Infinity to shorten and wrap nothing. */
  readonly width: number;
  readonly color: boolean;
  readonly isWide?: boolean | undefined;
  /** The current time, in milliseconds since the epoch. Lists show times relative to it. */
  readonly now?: number | undefined;
  /** Redacts each cell before it is shortened, because shortening could cut a secret in half. */
  readonly redact?: ((text: string) => string) | undefined;
}

/** The clean texts of a row, one for each column of the list. */
type TextRow = readonly { readonly text: string; readonly style: Style | undefined }[];

interface ShownColumn extends ColumnLayout {
  /** Among all columns of the list. */
  readonly index: number;
  readonly width: number;
}

const GAP = '  ';

/** A value that is shortened further says nothing. */
const MIN_SHORTENED = 20;

/** The time that cli-table3 takes grows with the square of the rows. */
const ROWS_AT_A_TIME = 100;

const EDGES = ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'];
const LINES = ['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid'];
const FRAMELESS: Table.TableConstructorOptions = {
  chars: { ...Object.fromEntries([...EDGES, ...LINES].map((name) => [name, ''])), middle: GAP },
  style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
};

const ISO_TIME = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})/g;

/** Replaces each time in a text with its distance from now: `in 3h`, `2d ago`. */
function withRelativeTimes(text: string, now: number): string {
  return text.replace(ISO_TIME, (iso) => {
    const distance = Date.parse(iso) - now;
    if (Number.isNaN(distance)) return iso;
    if (Math.abs(distance) < 1000) return 'now';
    return distance > 0 ? `in ${ms(distance)}` : `${ms(-distance)} ago`;
  });
}

function toTextRow(cells: readonly ResultCell[], columns: readonly ColumnLayout[], options: LayoutOptions): TextRow {
  const { redact, now } = options;
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

function lineWidth(columns: readonly ShownColumn[]): number {
  return columns.reduce((sum, { width }) => sum + width + GAP.length, -GAP.length);
}

/** Narrows columns to a common maximum; undefined if they are too wide even then. */
function narrowColumns(columns: readonly ShownColumn[], width: number): readonly ShownColumn[] | undefined {
  for (let max = Math.max(width, MIN_SHORTENED); max >= MIN_SHORTENED; max -= 1) {
    const fitted = columns.map((each) => (each.fit ? { ...each, width: Math.min(each.width, max) } : each));
    if (lineWidth(fitted) <= width) return fitted;
  }
  return undefined;
}

/** Narrows columns, and leaves out as few optional ones as it takes, from the last; undefined if that is too wide. */
function fitColumns(columns: readonly ShownColumn[], width: number): readonly ShownColumn[] | undefined {
  const optional = columns.filter(({ isOptional }) => isOptional).toReversed();
  const without = (column: ShownColumn | undefined) => columns.filter((each) => each !== column);
  for (const column of [undefined, ...optional]) {
    const fitted = narrowColumns(without(column), width);
    if (fitted) return fitted;
  }
  return optional.length === 0 ? undefined : fitColumns(without(optional[0]), width);
}

/** Lays out an item as lines of `LABEL: value`: values are aligned, wrap between words, and are left out if empty. */
function layOutRecord(columns: readonly ShownColumn[], row: TextRow, width: number, paint: Paint): string[] {
  const shown = columns.filter(({ index }) => row[index]?.text);
  const labelWidth = Math.max(...shown.map(({ header }) => stringWidth(header)));
  const indent = labelWidth > 0 ? labelWidth + 2 : 0;
  return shown.flatMap(({ header, index }) => {
    const { text = '', style } = row[index] ?? {};
    return wrapLine(text, width - indent).map((line, at) => {
      const label = at === 0 && header !== '' ? `${header}:` : '';
      return paint(label, 'dim') + ' '.repeat(indent - stringWidth(label)) + paint(line, style);
    });
  });
}

function drawLines(columns: readonly ShownColumn[], rows: readonly TextRow[], paint: Paint): string[] {
  const drawRow = (row: TextRow) =>
    columns.map(({ index, width, fit }) => {
      const { text = '', style } = row[index] ?? {};
      const shown = fit === undefined ? text : shorten(text, width, fit);
      return paint(shown, style) + ' '.repeat(width - stringWidth(shown));
    });
  const lines: string[] = [];
  for (let from = 0; from < rows.length; from += ROWS_AT_A_TIME) {
    const table = new Table(FRAMELESS);
    table.push(...rows.slice(from, from + ROWS_AT_A_TIME).map(drawRow));
    lines.push(...table.toString().split('\n'));
  }
  return lines.map((line) => line.trimEnd());
}

function toText(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

/**
 * Formats a list as a table with notes below the rows, or, if the table is too wide, as one record per item. Reads all
 * rows.
 * @returns the text, '' without rows; and whether something is shortened or left out
 * @throws the error of the rows
 */
export async function formatTable(
  list: Pick<ListResult, 'columns' | 'rows'>,
  options: LayoutOptions,
): Promise<{ readonly text: string; readonly isCut: boolean }> {
  const read: { readonly sortIndex: number; readonly row: TextRow }[] = [];
  for await (const { sortIndex, cells } of list.rows) {
    read.push({ sortIndex, row: toTextRow(cells, list.columns, options) });
  }
  const rows = read.toSorted((a, b) => a.sortIndex - b.sortIndex).map(({ row }) => row);
  const columns = shownColumns(list.columns, rows, options);
  if (columns.length === 0) return { text: '', isCut: false };
  const { width, redact } = options;
  const paint = await createPaint(options.color);
  const beside = columns.filter(({ isNote }) => !isNote);
  const fitted = fitColumns(beside, width);
  if (!fitted) {
    const records = rows.map((row) => toText(layOutRecord(columns, row, width, paint)));
    return { text: records.join('\n'), isCut: false };
  }
  const notes = columns.filter(({ isNote }) => isNote).map((column) => ({ ...column, header: '' }));
  const heading: TextRow = list.columns.map(({ header }) => ({ text: cellText(header, redact), style: 'heading' }));
  const [head = '', ...lines] = drawLines(fitted, [heading, ...rows], paint);
  const drawn = rows.flatMap((row, at) => {
    const below = layOutRecord(notes, row, width - GAP.length, paint);
    return [lines[at] ?? '', ...below.map((line) => GAP + line)];
  });
  return { text: toText(head === '' ? drawn : [head, ...drawn]), isCut: lineWidth(beside) > width };
}

/** Formats an object as lines of `LABEL: value`. Times are exact, and nothing is shortened. */
export async function formatObject({ columns, cells }: ObjectResult, options: LayoutOptions): Promise<string> {
  const row = toTextRow(cells, columns, { ...options, now: undefined });
  const paint = await createPaint(options.color);
  return toText(layOutRecord(shownColumns(columns, [row], options), row, options.width, paint));
}
