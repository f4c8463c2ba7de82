import type { Fit } from './command-result.ts';
import { type ColumnMeasure, fitWidths, GAP, shorten, type TextRow } from './fit-columns.ts';
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
  /** The positions of the columns whose values stand below their rows. */
  readonly below: readonly number[];
}

/** How a list is shown: as a table, or as one record per item. */
export type ListLayout = TableLayout | { readonly kind: 'records' };

/**
 * The order in which columns give way: hashes, ids, descriptions, and paths are shortened; then texts wrap between words, and
 * at last within them.
 */
const STEPS = ['hash', 'middle', 'end', 'start', 'words', 'wrap'] as const;

type Step = (typeof STEPS)[number];

/** The lines below a row are indented by this. */
export const BELOW_INDENT = '  ';

/** So many rows are enough to compare layouts. */
const SAMPLE_SIZE = 200;

/** The least and the greatest width of a column when columns up to a step give way. */
function boundsAt(
  { fit, natural, word, min, isOptional }: ColumnMeasure,
  step: Step,
): { natural: number; min: number } {
  const ofStep = STEPS.indexOf(step);
  const wraps = fit === 'wrap' || fit === 'below';
  const isHash = fit === 'middle' && isOptional;
  const ofColumn = STEPS.indexOf(wraps ? 'words' : isHash ? 'hash' : fit);
  if (ofColumn > ofStep) return { natural, min: natural };
  if (wraps) return { natural, min: step === 'wrap' ? min : Math.min(natural, word) };
  return { natural: ofColumn < ofStep ? min : natural, min };
}

/** Fits columns side by side into a width. @returns undefined if they do not fit */
function fitBeside(columns: readonly ColumnMeasure[], width: number): FittedColumn[] | undefined {
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
  const shown = shorten(text, fit, width);
  if (width === 1) return [shown];
  return wrapToWidth(shown, width).map((line, at) => (at === 0 ? line.trimEnd() : line.trim()));
}

/** How many lines the first rows take in a layout. */
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

/** The columns, and then the same columns without the last optional one, and so on. */
function droppingOptional(columns: readonly ColumnMeasure[]): (readonly ColumnMeasure[])[] {
  const last = columns.findLastIndex(({ isOptional }) => isOptional);
  return last === -1 ? [columns] : [columns, ...droppingOptional(columns.toSpliced(last, 1))];
}

/** The layouts of some columns that fit: with all beside each other, and with notes below their rows. */
function findLayouts(columns: readonly ColumnMeasure[], width: number): TableLayout[] {
  const beside = fitBeside(columns, width);
  const notes = columns.filter(({ fit }) => fit === 'below').map(({ index }) => index);
  const apart =
    notes.length === 0
      ? undefined
      : fitBeside(
          columns.filter(({ fit }) => fit !== 'below'),
          width,
        );
  return [
    ...(beside ? [{ kind: 'table' as const, columns: beside, below: [] }] : []),
    ...(apart ? [{ kind: 'table' as const, columns: apart, below: notes }] : []),
  ];
}

/**
 * Decides what a table shows in a width. Where the columns do not fit, empty ones go; ids, hashes, and paths are shortened;
 * notes move below their rows, optional columns go, and other texts wrap, as it takes the fewest lines. The items become
 * records if the columns do not fit at all.
 */
export function chooseLayout(columns: readonly ColumnMeasure[], rows: readonly TextRow[], width: number): ListLayout {
  const natural = columns.reduce((sum, each) => sum + each.natural, GAP.length * (columns.length - 1));
  if (natural <= width) {
    const whole = columns.map(({ index, fit, natural: own }) => ({ index, fit, width: own }));
    return { kind: 'table', columns: whole, below: [] };
  }
  const filled = columns.filter(({ isEmpty, isChosen }) => !isEmpty || isChosen);
  let best: ListLayout = { kind: 'records' };
  let fewest = Number.POSITIVE_INFINITY;
  for (const shown of droppingOptional(filled.length === 0 ? columns : filled)) {
    for (const layout of findLayouts(shown, width)) {
      const lines = countLines(layout, rows, width);
      if (lines < fewest) [best, fewest] = [layout, lines];
    }
  }
  return best;
}
