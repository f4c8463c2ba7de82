import stringWidth from 'string-width';
import type { ColumnLayout, Tone } from './command-result.ts';

/** The sanitized texts of a row, one for each column, with their tones. */
export interface TextRow {
  readonly texts: readonly string[];
  readonly tones: readonly (Tone | undefined)[];
}

/** The space between two columns of a table. */
export const GAP = '  ';

/** A shortened value that is narrower says nothing. */
const MIN_SHORTENED = 20;

/** Text that is narrower would wrap almost every word. */
const MIN_WRAPPED = 12;

/** A column and its widths, in terminal columns. */
interface FittedColumn {
  readonly column: ColumnLayout;
  /** The position among all columns. */
  readonly index: number;
  readonly isEmpty: boolean;
  /** The width at which nothing is shortened or wrapped. */
  readonly natural: number;
  /** The width below which a word would be split, or a shortened value say nothing. */
  readonly min: number;
  readonly width: number;
}

/** How a table fits a width. */
export interface Fitted {
  /** The columns side by side. */
  readonly beside: readonly FittedColumn[];
  /** The columns whose values go below their rows. */
  readonly below: readonly FittedColumn[];
  /** The columns with values that the table does not show. */
  readonly leftOut: readonly FittedColumn[];
}

/** The width of the widest text; at least 1. */
export function widest(texts: readonly string[]): number {
  return texts.reduce((width, text) => Math.max(width, stringWidth(text)), 1);
}

function measure(column: ColumnLayout, index: number, rows: readonly TextRow[]): FittedColumn {
  const values = rows.map(({ texts }) => texts[index] ?? '');
  const natural = widest([column.header, ...values]);
  const isShortened = column.fit === 'start' || column.fit === 'end';
  const words = () => widest([column.header, ...values.flatMap((text) => text.split(' '))]);
  const wanted = isShortened ? MIN_SHORTENED : column.isTime ? natural : Math.max(MIN_WRAPPED, words());
  const isEmpty = values.every((value) => value === '');
  return { column, index, isEmpty, natural, min: Math.min(natural, wanted), width: natural };
}

function sumOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1));
}

/** Narrows the widest columns until all fit. @param floors the columns' minimums, which together fit */
function narrow(columns: readonly FittedColumn[], floors: readonly number[], width: number): FittedColumn[] {
  const widths = columns.map(({ natural }) => natural);
  for (let excess = sumOf(widths) - width; excess > 0; excess -= 1) {
    const above = widths.map((each, at) => (each > (floors[at] ?? 0) ? each : 0));
    const at = above.indexOf(Math.max(...above));
    widths[at] = (widths[at] ?? 1) - 1;
  }
  return columns.map((column, at) => ({ ...column, width: widths[at] ?? 1 }));
}

/**
 * Fits the columns of a table into a width. If they are too wide, leaves out empty columns, moves notes (`below`) under their
 * rows, wraps those that wrap first, then shortens the optional columns and leaves them out, from the last one, and then shortens
 * and wraps the others.
 * @param width in terminal columns, or Infinity
 * @returns undefined if a word would have to be split
 */
export function fitColumns(
  columns: readonly ColumnLayout[],
  rows: readonly TextRow[],
  width: number,
): Fitted | undefined {
  const all = columns.map((column, index) => measure(column, index, rows));
  if (sumOf(all.map(({ natural }) => natural)) <= width) return { beside: all, below: [], leftOut: [] };
  const filled = all.filter(({ isEmpty }) => !isEmpty);
  const below = filled.filter(({ column }) => column.fit === 'below');
  const candidates = filled.filter((each) => !below.includes(each));
  const leftOut: FittedColumn[] = [];
  const floorsOf = (shown: readonly FittedColumn[]) =>
    shown.map(({ column, natural, min }) => (column.isOptional || column.wrapsFirst ? min : natural));
  let beside = candidates;
  for (const each of candidates.toReversed()) {
    if (!each.column.isOptional || sumOf(floorsOf(beside)) <= width) continue;
    leftOut.unshift(each);
    beside = beside.filter((other) => other !== each);
  }
  const floors = sumOf(floorsOf(beside)) > width ? beside.map(({ min }) => min) : floorsOf(beside);
  if (beside.length === 0 || sumOf(floors) > width) return undefined;
  return { beside: narrow(beside, floors, width), below, leftOut };
}
