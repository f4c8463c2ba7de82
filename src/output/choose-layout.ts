import { type ColumnMeasure, fitWidths, GAP, shorten, type TextRow } from './column-widths.ts';
import type { Fit } from './command-result.ts';
import { wrapToWidth } from './width.ts';

/** A column that a table shows, and its width. */
export interface FittedColumn {
  /** The position among all columns. */
  readonly index: number;
  readonly fit: Fit;
  readonly width: number;
}

export interface TableLayout {
  readonly kind: 'table';
  readonly columns: readonly FittedColumn[];
  /** The positions of the columns whose values go below their rows. */
  readonly below: readonly number[];
}

/** How a list is shown: as a table, or as one record per item. */
export type ListLayout = TableLayout | { readonly kind: 'records' };

/**
 * The steps to make a table narrower: first shorten hashes, then ids, descriptions, and paths; then wrap texts between words,
 * and finally within words.
 */
const STEPS = ['hash', 'middle', 'end', 'start', 'words', 'wrap'] as const;

type Step = (typeof STEPS)[number];

/** The indentation of the lines below a row. */
export const BELOW_INDENT = '  ';

/** The number of rows to compare layouts by. */
const SAMPLE_SIZE = 200;

/** The maximum (`natural`) and minimum width of a column once all steps up to `step` apply. */
function boundsAt(
  { fit, natural, word, min, isOptional }: ColumnMeasure,
  step: Step,
): { natural: number; min: number } {
  const wraps = fit === 'wrap' || fit === 'below';
  const isHash = fit === 'middle' && isOptional;
  const firstStep = STEPS.indexOf(wraps ? 'words' : isHash ? 'hash' : fit);
  const stepsTaken = STEPS.indexOf(step) - firstStep;
  if (stepsTaken < 0) return { natural, min: natural };
  if (wraps) return { natural, min: step === 'wrap' ? min : Math.min(natural, word) };
  return { natural: stepsTaken > 0 ? min : natural, min };
}

/** Fits columns side by side into a width. @returns undefined if they do not fit */
function fitSideBySide(columns: readonly ColumnMeasure[], width: number): FittedColumn[] | undefined {
  const room = width - GAP.length * (columns.length - 1);
  for (const step of columns.length === 0 ? [] : STEPS) {
    const bounds = columns.map((column) => boundsAt(column, step));
    if (bounds.reduce((sum, { min }) => sum + min, 0) > room) continue;
    const widths = fitWidths(bounds, room);
    return columns.map(({ index, fit }, at) => ({ index, fit, width: widths[at] ?? 1 }));
  }
  return undefined;
}

/** Shortens or wraps a text to the width of its column. */
export function toLines(text: string, { fit, width }: FittedColumn): readonly string[] {
  const shortened = shorten(text, fit, width);
  if (width === 1) return [shortened];
  return wrapToWidth(shortened, width).map((line, at) => (at === 0 ? line.trimEnd() : line.trim()));
}

/** How many lines the sample rows take in a layout. */
function countLines({ columns, below }: TableLayout, rows: readonly TextRow[], width: number): number {
  let count = 0;
  for (const { texts } of rows.slice(0, SAMPLE_SIZE)) {
    count += Math.max(...columns.map((column) => toLines(texts[column.index] ?? '', column).length));
    for (const index of below) {
      const text = texts[index] ?? '';
      if (text !== '') count += wrapToWidth(text, width - BELOW_INDENT.length).length;
    }
  }
  return count;
}

/** All columns, then all but the last optional one, then all but the last two optional ones, and so on. */
function withFewerOptional(columns: readonly ColumnMeasure[]): (readonly ColumnMeasure[])[] {
  const last = columns.findLastIndex(({ isOptional }) => isOptional);
  return last === -1 ? [columns] : [columns, ...withFewerOptional(columns.toSpliced(last, 1))];
}

/** The layouts in which the columns fit: all side by side, and with the `below` columns under their rows. */
function findLayouts(columns: readonly ColumnMeasure[], width: number): TableLayout[] {
  const layouts: TableLayout[] = [];
  const sideBySide = fitSideBySide(columns, width);
  if (sideBySide) layouts.push({ kind: 'table', columns: sideBySide, below: [] });
  const notes = columns.filter(({ fit }) => fit === 'below');
  const others = columns.filter(({ fit }) => fit !== 'below');
  const withoutNotes = notes.length === 0 ? undefined : fitSideBySide(others, width);
  if (withoutNotes) layouts.push({ kind: 'table', columns: withoutNotes, below: notes.map(({ index }) => index) });
  return layouts;
}

/**
 * Chooses how a list is shown in a width. If the columns do not fit, leaves out empty ones, and of the ways to shorten, wrap,
 * move, or leave out the others, takes the one with the fewest lines. Chooses records if nothing fits.
 */
export function chooseLayout(columns: readonly ColumnMeasure[], rows: readonly TextRow[], width: number): ListLayout {
  const natural = columns.reduce((sum, column) => sum + column.natural, GAP.length * (columns.length - 1));
  if (natural <= width) {
    return {
      kind: 'table',
      columns: columns.map(({ index, fit, natural: width }) => ({ index, fit, width })),
      below: [],
    };
  }
  const filled = columns.filter(({ isEmpty }) => !isEmpty);
  let best: ListLayout = { kind: 'records' };
  let fewestLines = Number.POSITIVE_INFINITY;
  for (const candidates of withFewerOptional(filled.length === 0 ? columns : filled)) {
    for (const layout of findLayouts(candidates, width)) {
      const lines = countLines(layout, rows, width);
      if (lines < fewestLines) [best, fewestLines] = [layout, lines];
    }
  }
  return best;
}
