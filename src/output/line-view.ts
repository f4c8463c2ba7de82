import { sanitizeLine } from './sanitize.ts';
import { displayWidth, graphemes } from './width.ts';

/** What of a line that is being typed stands on the screen. */
export interface LineView {
  /** None is wider than the screen. */
  readonly rows: readonly string[];
  /** Where the cursor is: an index of `rows`, and the columns before it. */
  readonly cursor: { readonly row: number; readonly column: number };
}

export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

/** Plain ASCII, but for the last of it where something follows that may join it; or the rest. */
const RUNS = /[ -~]+(?![^ -~])|[ -~]?[^ -~]+/g;

function* pieces(text: string): Generator<{ text: string; width: number }> {
  for (const [run] of text.matchAll(RUNS)) {
    if (run.charCodeAt(run.length - 1) < 0x7f) for (const character of run) yield { text: character, width: 1 };
    else yield* graphemes(run);
  }
}

/** Where in the cleaned text a place of the text is. */
function cleanedPlace(text: string, cleaned: string, place: number): number {
  const before = sanitizeLine(text.slice(0, place));
  // Whether a joiner between letters is harmless depends on both sides of it.
  return cleaned.startsWith(before) ? before.length : cleaned.length - sanitizeLine(text.slice(place)).length;
}

/**
 * How a line that is being typed is shown: broken where the screen ends, and cleaned of what a terminal acts upon. Of a
 * line that is taller than the screen there is the end, or the part that the cursor is in: what has scrolled away could
 * not be drawn again.
 * @param cursor an index of `text`
 */
export function lineView(label: string, text: string, cursor: number, size: ScreenSize): LineView {
  const cleaned = sanitizeLine(text);
  const place = label.length + cleanedPlace(text, cleaned, cursor);
  const all: string[] = [];
  let row = '';
  let column = 0;
  let at = 0;
  let found: LineView['cursor'] | undefined;
  const breakRow = (): void => {
    all.push(row);
    row = '';
    column = 0;
  };
  for (const piece of pieces(label + cleaned)) {
    if (column > 0 && column + piece.width > size.columns) breakRow();
    at += piece.text.length;
    if (!found && place < at) found = { row: all.length, column };
    row += piece.text;
    column += piece.width;
  }
  if (!found && column >= size.columns) breakRow();
  found ??= { row: all.length, column };
  all.push(row);
  // One row is left for what stands above the line.
  const height = Math.max(1, size.rows - 1);
  const from = Math.min(Math.max(0, all.length - height), found.row);
  return { rows: all.slice(from, from + height), cursor: { row: found.row - from, column: found.column } };
}

/** How far below the first row of a view the cursor stands once the terminal has wrapped its rows to other columns. */
export function rowsAbove({ rows, cursor }: LineView, columns: number): number {
  const heights = rows.slice(0, cursor.row).map((row) => Math.max(1, Math.ceil(displayWidth(row) / columns)));
  return heights.reduce((sum, each) => sum + each, 0) + Math.floor(cursor.column / columns);
}
