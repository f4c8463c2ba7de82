import type Table from 'cli-table3';
import type { Paint } from './color.ts';
import type { Tone } from './command-result.ts';
import { displayWidth, graphemes, truncate, truncateMiddle, wrap } from './width.ts';

/** The sanitized texts of a row, with their tones. */
export interface TextRow {
  readonly texts: readonly string[];
  readonly tones: readonly (Tone | undefined)[];
  /** Whether each text must stay unshortened. */
  readonly noTruncate: readonly boolean[];
  /** Whether each text is shortened in its middle. */
  readonly truncateMiddle: readonly boolean[];
  /** Whether each text may be left out of a table that is too narrow for it. */
  readonly isOptional: readonly boolean[];
}

const GAP = '  ';

/** If the average column is narrower, cards are easier to read than a table. */
const MIN_AVERAGE_WIDTH = 12;

/** The minimum width of a shortened column if other columns cannot be shortened. */
const MIN_WIDTH = 6;

/** If an optional column makes any shortened column narrower, it is left out. */
const MIN_WIDTH_WITH_OPTIONAL = 20;

/** Narrower cards would wrap almost every word. */
const MIN_CARD_WIDTH = 20;

/** The number of rows to draw at a time. Limits memory, because cli-table3 creates several objects per cell. */
const CHUNK_SIZE = 100;

const FRAMELESS: Table.TableConstructorOptions = {
  chars: {
    top: '',
    'top-mid': '',
    'top-left': '',
    'top-right': '',
    bottom: '',
    'bottom-mid': '',
    'bottom-left': '',
    'bottom-right': '',
    left: '',
    'left-mid': '',
    mid: '',
    'mid-mid': '',
    right: '',
    'right-mid': '',
    middle: GAP,
  },
  style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
};

function naturalWidths(headers: readonly string[], rows: readonly TextRow[]): number[] {
  // cli-table3 ignores a width of 0.
  const widths = headers.map((header) => Math.max(1, displayWidth(header)));
  for (const { texts } of rows) {
    for (const [index, text] of texts.entries()) widths[index] = Math.max(widths[index] ?? 1, displayWidth(text));
  }
  return widths;
}

/**
 * Shrinks the widest columns until all columns fit.
 * @param room the total width to fit into, at least one per column
 * @returns the widths in the same order; their sum is at most `room`
 */
export function fitWidths(widths: readonly number[], room: number): number[] {
  let left = room;
  let open = widths.length;
  let share = Math.floor(left / open);
  for (const width of widths.toSorted((a, b) => a - b)) {
    if (width > share) break;
    left -= width;
    open -= 1;
    share = open === 0 ? Number.POSITIVE_INFINITY : Math.floor(left / open);
  }
  let spare = open === 0 ? 0 : left - share * open;
  return widths.map((width) => {
    if (width <= share) return width;
    spare -= 1;
    return spare >= 0 ? share + 1 : share;
  });
}

const PLACEHOLDER = '\ue000';
const PLACEHOLDER_REST = '\ue001';

/**
 * cli-table3 measures characters by an old Unicode version. `replace` substitutes placeholders of the correct width for
 * text that is not ASCII, and `restore` puts the originals back in the same order.
 */
function createPlaceholders() {
  const originals: string[] = [];
  let restored = 0;
  return {
    replace(text: string): string {
      if (/^[ -~]*$/.test(text)) return text;
      let result = '';
      for (const { text: original, width } of graphemes(text)) {
        originals.push(original);
        result += PLACEHOLDER + PLACEHOLDER_REST.repeat(width - 1);
      }
      return result;
    },
    restore(drawn: string): string {
      return drawn.replace(/\ue000\ue001*/g, () => originals[restored++] ?? '');
    },
  };
}

interface TableStyle {
  readonly headers: readonly string[];
  readonly widths: readonly number[];
  readonly paint: Paint;
}

function drawTable(TableClass: typeof Table, { headers, widths, paint }: TableStyle, rows: readonly TextRow[]): string {
  const { replace, restore } = createPlaceholders();
  const head = headers.map((header, index) => paint(replace(truncate(header, widths[index] ?? 1)), 'heading'));
  const table = new TableClass({ ...FRAMELESS, head, colWidths: [...widths] });
  for (const { texts, tones, truncateMiddle: isMiddle } of rows) {
    const fitted = texts.map((text, index) => (isMiddle[index] ? truncateMiddle : truncate)(text, widths[index] ?? 1));
    table.push(fitted.map((text, index) => paint(replace(text), tones[index])));
  }
  const lines = restore(table.toString()).split('\n');
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

/** The content of a table as sanitized text. */
interface TableContent {
  /** One per column; all empty for a table without a header row. */
  readonly headers: readonly string[];
  readonly rows: readonly TextRow[];
}

/**
 * Fits columns into a width. Columns with `noTruncate` keep their width; the others share the remaining room.
 * @returns undefined if the other columns would become too narrow
 */
function shrinkColumns(natural: readonly number[], noTruncate: readonly boolean[], room: number): number[] | undefined {
  const flexible = natural.filter((_, index) => !noTruncate[index]);
  const left = room - natural.reduce((sum, each, index) => sum + (noTruncate[index] ? each : 0), 0);
  if (flexible.length === 0 || left < MIN_WIDTH * flexible.length) return undefined;
  const shrunk = fitWidths(flexible, left);
  return natural.map((width, index) => (noTruncate[index] ? width : (shrunk.shift() ?? width)));
}

/** Fits a table into a width. @returns undefined if its columns would become too narrow */
function fitColumns({ headers, rows }: TableContent, width: number): readonly number[] | undefined {
  const natural = naturalWidths(headers, rows);
  const room = width - GAP.length * (headers.length - 1);
  if (natural.reduce((sum, each) => sum + each, 0) <= room) return natural;
  const widths = shrinkColumns(natural, rows[0]?.noTruncate ?? [], room);
  return width < MIN_AVERAGE_WIDTH * headers.length ? undefined : widths;
}

/** Leaves out optional columns, the last one first, until the others are wide enough. */
function withoutOptional(content: TableContent, width: number): TableContent {
  const { headers, rows } = content;
  const last = rows[0]?.isOptional.lastIndexOf(true) ?? -1;
  if (last === -1) return content;
  const natural = naturalWidths(headers, rows);
  const isReadable = fitColumns(content, width)?.every(
    (each, index) => each >= Math.min(natural[index] ?? 0, MIN_WIDTH_WITH_OPTIONAL),
  );
  if (isReadable) return content;
  const without = <Cell>(cells: readonly Cell[]): readonly Cell[] => cells.filter((_, index) => index !== last);
  const kept = rows.map((row) => ({
    texts: without(row.texts),
    tones: without(row.tones),
    noTruncate: without(row.noTruncate),
    truncateMiddle: without(row.truncateMiddle),
    isOptional: without(row.isOptional),
  }));
  return withoutOptional({ headers: without(headers), rows: kept }, width);
}

/**
 * Lays out rows as columns without a frame, or as one card per row if columns would be too narrow. Yields whole lines.
 * @param width the maximum width of a line (at least 20), or Infinity to shorten nothing
 */
export async function* layOutTable(content: TableContent, width: number, paint: Paint): AsyncGenerator<string> {
  if (content.rows.length === 0 || content.headers.length === 0) return;
  const { headers, rows } = withoutOptional(content, width);
  const widths = fitColumns({ headers, rows }, width);
  if (!widths) {
    for (const [index, row] of content.rows.entries()) {
      yield `${index === 0 ? '' : '\n'}${layOutCard(content.headers, row, Math.max(width, MIN_CARD_WIDTH), paint).join('\n')}\n`;
    }
    return;
  }
  const headless = headers.every((header) => header === '');
  const { default: TableClass } = await import('cli-table3');
  for (let from = 0; from < rows.length; from += CHUNK_SIZE) {
    const shownHeaders = headless || from > 0 ? [] : headers;
    yield drawTable(TableClass, { headers: shownHeaders, widths, paint }, rows.slice(from, from + CHUNK_SIZE));
  }
}

/**
 * Lays out an item as lines of `label: value` with aligned, wrapped values. Omits empty values.
 * @param labels one per cell; a value with an empty label has no `label:` prefix
 * @param width the maximum width of a line (at least 8), or Infinity to wrap nothing
 */
export function layOutCard(labels: readonly string[], row: TextRow, width: number, paint: Paint): string[] {
  const widest = Math.max(0, ...labels.map(displayWidth));
  const labelWidth = Math.min(widest, Math.floor(width / 2) - 2);
  const indent = widest === 0 ? 0 : labelWidth + 2;
  return row.texts.flatMap((text, index) => {
    if (text === '') return [];
    const label = truncate(labels[index] ?? '', labelWidth);
    const named = label === '' ? '' : `${label}:`;
    const lead = paint(named, 'dim') + ' '.repeat(indent - displayWidth(named));
    return wrap(text, width - indent).map((line, at) =>
      `${at === 0 ? lead : ' '.repeat(indent)}${paint(at === 0 ? line.trimEnd() : line.trim(), row.tones[index])}`.trimEnd(),
    );
  });
}
