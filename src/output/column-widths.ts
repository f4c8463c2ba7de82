import type { ColumnLayout, Fit, Tone } from './command-result.ts';
import { displayWidth, truncate, truncateMiddle, truncateStart } from './width.ts';

/** The sanitized texts of a row, one for each column, with their tones. */
export interface TextRow {
  readonly texts: readonly string[];
  readonly tones: readonly (Tone | undefined)[];
}

/** The space between two columns of a table. */
export const GAP = '  ';

const SHORTEN = { middle: truncateMiddle, start: truncateStart, end: truncate } as const;

type Shortening = keyof typeof SHORTEN;

/** The minimum widths of shortened values. */
const MIN_WIDTH: Readonly<Record<Shortening, number>> = { middle: 11, start: 20, end: 20 };

/** A shortened column grows in steps, up to this width, until different values look different. */
const MAX_DISTINCT_WIDTH = 40;
const DISTINCT_STEP = 4;

/** The minimum width of a wrapped column is its longest word, within these bounds. */
const MIN_WRAPPED_WIDTH = 12;
const MAX_WORD_WIDTH = 16;

/** Whether a column shortens values that are wider than it. */
export function isShortening(fit: Fit): fit is Shortening {
  return fit !== 'wrap' && fit !== 'below';
}

/** Shortens a sanitized text that is wider than its column; returns it unchanged if the column wraps. */
export function shorten(text: string, fit: Fit, width: number): string {
  return isShortening(fit) ? SHORTEN[fit](text, width) : text;
}

/** The measurements of a column, in terminal columns. */
export interface ColumnMeasure {
  /** The position among all columns. */
  readonly index: number;
  readonly fit: Fit;
  /** The width at which nothing is shortened or wrapped; at least 1. */
  readonly natural: number;
  /** The width of the longest word. */
  readonly word: number;
  /** The width below which values cannot be read or told apart. */
  readonly min: number;
  readonly isEmpty: boolean;
  readonly isOptional: boolean;
}

function widest(texts: Iterable<string>): number {
  let width = 0;
  for (const text of texts) width = Math.max(width, displayWidth(text));
  return width;
}

function* words(texts: Iterable<string>): Generator<string> {
  for (const text of texts) yield* text.split(' ');
}

/** The smallest width at which different values stay different when shortened. */
function distinctWidth(texts: readonly string[], fit: Shortening): number {
  const values = new Set(texts);
  let width = MIN_WIDTH[fit];
  while (width < MAX_DISTINCT_WIDTH) {
    const at = width;
    if (new Set(Array.from(values, (text) => SHORTEN[fit](text, at))).size === values.size) break;
    width += DISTINCT_STEP;
  }
  return width;
}

function minWidth(header: string, texts: readonly string[], fit: Fit, word: number): number {
  const headerWidth = widest(words([header]));
  if (fit === 'end') return Math.max(headerWidth, MIN_WIDTH.end);
  if (isShortening(fit)) return Math.max(headerWidth, distinctWidth(texts, fit));
  return Math.max(MIN_WRAPPED_WIDTH, Math.min(MAX_WORD_WIDTH, word));
}

/** Measures the columns of a table. */
export function measureColumns(columns: readonly ColumnLayout[], rows: readonly TextRow[]): ColumnMeasure[] {
  return columns.map(({ header, fit = 'wrap', isOptional = false }, index) => {
    const texts = rows.map((row) => row.texts[index] ?? '');
    const valueWidth = widest(texts);
    // cli-table3 ignores a width of 0.
    const natural = Math.max(1, displayWidth(header), valueWidth);
    const word = Math.max(widest(words([header])), widest(words(texts)));
    const min = Math.min(natural, minWidth(header, texts, fit, word));
    return { index, fit, natural, word: Math.max(word, min), min, isEmpty: valueWidth === 0, isOptional };
  });
}

/**
 * Shrinks the widest columns until all fit, none below its minimum.
 * @param room the total width to fit into, at least the sum of the minimums
 * @returns the widths in the same order; their sum is at most `room`
 */
export function fitWidths(
  columns: readonly { readonly natural: number; readonly min: number }[],
  room: number,
): number[] {
  const widthsAt = (limit: number): number[] =>
    columns.map(({ natural, min }) => Math.min(natural, Math.max(min, limit)));
  const sumAt = (limit: number): number => widthsAt(limit).reduce((sum, width) => sum + width, 0);
  let low = 0;
  let high = Math.max(0, ...columns.map(({ natural }) => natural));
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (sumAt(middle) <= room) low = middle;
    else high = middle - 1;
  }
  const widths = widthsAt(low);
  let spare = room - sumAt(low);
  return widths.map((width, index) => {
    const { natural = 0 } = columns[index] ?? {};
    if (spare <= 0 || width !== low || natural === low) return width;
    spare -= 1;
    return width + 1;
  });
}
