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

/** A column, and how wide it is, in terminal columns. */
interface Measured {
  readonly column: ColumnLayout;
  /** The position among all columns. */
  readonly index: number;
  /** The width at which nothing is shortened or wrapped. */
  readonly natural: number;
  /** The width below which a word would be split, or a shortened value say nothing. */
  readonly min: number;
  readonly isEmpty: boolean;
}

/** A column that a table shows, and its width. */
interface FittedColumn extends Measured {
  readonly width: number;
}

/** How a table fits a width. */
export interface Fitted {
  /** The columns side by side. */
  readonly beside: readonly FittedColumn[];
  /** The columns whose values go below their rows. */
  readonly below: readonly Measured[];
  /** The columns with values that the table does not show. */
  readonly leftOut: readonly Measured[];
}

function widest(texts: readonly string[]): number {
  return texts.reduce((width, text) => Math.max(width, stringWidth(text)), 1);
}

function measure(column: ColumnLayout, index: number, rows: readonly TextRow[]): Measured {
  const values = rows.map(({ texts }) => texts[index] ?? '');
  const natural = widest([column.header, ...values]);
  const isShortened = column.fit === 'start' || column.fit === 'end';
  const words = () => widest([column.header, ...values.flatMap((text) => text.split(' '))]);
  const wanted = isShortened ? MIN_SHORTENED : column.isTime ? natural : Math.max(MIN_WRAPPED, words());
  const min = Math.min(natural, wanted);
  return { column, index, natural, min, isEmpty: values.every((value) => value === '') };
}

function sumOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1));
}

/** Narrows the widest columns until all fit. @param floor a column's minimum; all minimums together fit */
function narrow(columns: readonly Measured[], floor: (column: Measured) => number, width: number): FittedColumn[] {
  const widths = columns.map(({ natural }) => natural);
  const floors = columns.map(floor);
  for (let excess = sumOf(widths) - width; excess > 0; excess -= 1) {
    const above = widths.map((each, at) => (each > (floors[at] ?? 0) ? each : 0));
    const at = above.indexOf(Math.max(...above));
    widths[at] = (widths[at] ?? 1) - 1;
  }
  return columns.map((column, at) => ({ ...column, width: widths[at] ?? 1 }));
}

/**
 * Fits the columns of a table into a width. If they are too wide, leaves out empty columns, moves notes (`below`) under their
 * rows, then shortens the optional columns and leaves them out, from the last one, and then shortens and wraps the others.
 * @param width in terminal columns, or Infinity
 * @returns undefined if a word would have to be split
 */
export function fitColumns(
  columns: readonly ColumnLayout[],
  rows: readonly TextRow[],
  width: number,
): Fitted | undefined {
  const all = columns.map((column, index) => measure(column, index, rows));
  const naturalWidth = ({ natural }: Measured): number => natural;
  if (sumOf(all.map(naturalWidth)) <= width) {
    return { beside: narrow(all, naturalWidth, width), below: [], leftOut: [] };
  }
  const filled = all.filter(({ isEmpty }) => !isEmpty);
  const below = filled.filter(({ column }) => column.fit === 'below');
  let beside = filled.filter((each) => !below.includes(each));
  const unlessOptional = ({ column, natural, min }: Measured): number => (column.isOptional ? min : natural);
  const isTooWide = (floor: (column: Measured) => number): boolean => sumOf(beside.map(floor)) > width;
  while (isTooWide(unlessOptional) && beside.some(({ column }) => column.isOptional)) {
    beside = beside.toSpliced(
      beside.findLastIndex(({ column }) => column.isOptional),
      1,
    );
  }
  const floor = isTooWide(unlessOptional) ? ({ min }: Measured) => min : unlessOptional;
  if (beside.length === 0 || isTooWide(floor)) return undefined;
  const leftOut = filled.filter((each) => !below.includes(each) && !beside.includes(each));
  return { beside: narrow(beside, floor, width), below, leftOut };
}
