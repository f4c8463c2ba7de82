import type Table from 'cli-table3';
import { BELOW_INDENT, chooseLayout, type FittedColumn, type TableLayout, toLines } from './choose-layout.ts';
import type { Paint } from './color.ts';
import { type ColumnMeasure, GAP, isShortening, measureColumns, type TextRow } from './column-widths.ts';
import type { ColumnLayout } from './command-result.ts';
import { layOutRecord } from './record-layout.ts';
import { graphemes } from './width.ts';

/** Narrower records would wrap almost every word. */
const MIN_RECORD_WIDTH = 20;

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

/** The lines of a table row. Each has a cell for every column. */
type CellLines = readonly (readonly string[])[];

/** Shortens or wraps the texts of a row to the widths of the columns. */
function toCellLines(texts: readonly string[], columns: readonly FittedColumn[]): CellLines {
  const cells = columns.map((column) => toLines(texts[column.index] ?? '', column));
  const height = Math.max(...cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_, at) => cells.map((lines) => lines[at] ?? ''));
}

interface DrawOptions {
  readonly columns: readonly FittedColumn[];
  readonly paint: Paint;
}

/** Paints and aligns the cells. Returns one text per line. */
function drawLines(
  TableClass: typeof Table,
  lines: readonly { readonly cells: readonly string[]; readonly tones: TextRow['tones'] | 'heading' }[],
  { columns, paint }: DrawOptions,
): string[] {
  const { replace, restore } = createPlaceholders();
  const table = new TableClass({ ...FRAMELESS, colWidths: columns.map(({ width }) => width) });
  for (const { cells, tones } of lines) {
    table.push(
      cells.map((text, at) => paint(replace(text), tones === 'heading' ? tones : tones[columns[at]?.index ?? at])),
    );
  }
  return restore(table.toString())
    .split('\n')
    .map((line) => line.trimEnd());
}

/** The content of a table as sanitized text. */
interface TableContent {
  /** If all headers are empty, the table has no header row. */
  readonly columns: readonly ColumnLayout[];
  readonly rows: readonly TextRow[];
}

/** Lays out the values that go below a row, with labels if they are from several columns. */
function linesBelow(
  { texts, tones }: TextRow,
  labels: readonly { readonly index: number; readonly label: string }[],
  width: number,
  paint: Paint,
): string[] {
  const row = { texts: labels.map(({ index }) => texts[index] ?? ''), tones: labels.map(({ index }) => tones[index]) };
  const labelTexts = labels.map(({ label }) => (labels.length === 1 ? '' : label));
  return layOutRecord(labelTexts, row, { width: width - BELOW_INDENT.length, paint }).map(
    (line) => `${BELOW_INDENT}${line}`,
  );
}

/** Draws rows below a header. Yields complete lines. */
async function* drawTable(
  { columns, rows }: TableContent,
  fitted: TableLayout,
  width: number,
  paint: Paint,
): AsyncGenerator<string> {
  const { default: TableClass } = await import('cli-table3');
  const draw = { columns: fitted.columns, paint };
  const headers = columns.map(({ header }) => header);
  const below = fitted.below.map((index) => ({ index, label: headers[index] ?? '' }));
  if (headers.some((header) => header !== '')) {
    const lines = toCellLines(headers, fitted.columns).map((cells) => ({ cells, tones: 'heading' as const }));
    yield `${drawLines(TableClass, lines, draw).join('\n')}\n`;
  }
  for (let from = 0; from < rows.length; from += CHUNK_SIZE) {
    const chunk = rows.slice(from, from + CHUNK_SIZE);
    const lines = chunk.map(({ texts, tones }) =>
      toCellLines(texts, fitted.columns).map((cells) => ({ cells, tones })),
    );
    const drawn = drawLines(TableClass, lines.flat(), draw);
    const text = chunk.flatMap((row, at) => [
      ...drawn.splice(0, lines[at]?.length ?? 0),
      ...linesBelow(row, below, width, paint),
    ]);
    yield `${text.join('\n')}\n`;
  }
}

/** The headers of the columns of which a table does not show everything. */
export interface CutColumns {
  readonly shortened: readonly string[];
  readonly leftOut: readonly string[];
}

/** Returns what a table does not show. */
function findCutColumns(
  layout: TableLayout,
  measures: readonly ColumnMeasure[],
  columns: readonly ColumnLayout[],
): CutColumns {
  const widths = new Map(layout.columns.map(({ index, width }) => [index, width]));
  const headersOf = (cut: readonly ColumnMeasure[]) => cut.map(({ index }) => columns[index]?.header ?? '');
  const isShortened = ({ index, fit, natural }: ColumnMeasure) =>
    isShortening(fit) && (widths.get(index) ?? natural) < natural;
  const isLeftOut = ({ index, isEmpty }: ColumnMeasure) =>
    !isEmpty && !widths.has(index) && !layout.below.includes(index);
  return { shortened: headersOf(measures.filter(isShortened)), leftOut: headersOf(measures.filter(isLeftOut)) };
}

/**
 * Lays out rows as columns without a frame, or as one record per row if the columns would be too narrow. Yields complete
 * lines.
 * @param width the maximum width of a line (at least 20), or Infinity to shorten nothing
 * @param onLayout called with what the table does not show
 */
export async function* layOutTable(
  content: TableContent,
  width: number,
  paint: Paint,
  onLayout: (cut: CutColumns) => void,
): AsyncGenerator<string> {
  const { columns, rows } = content;
  if (rows.length === 0 || columns.length === 0) return;
  const measures = measureColumns(columns, rows);
  const layout = chooseLayout(measures, rows, width);
  if (layout.kind === 'table') {
    onLayout(findCutColumns(layout, measures, columns));
    yield* drawTable(content, layout, width, paint);
    return;
  }
  const labels = columns.map(({ header }) => header);
  for (const [index, row] of rows.entries()) {
    const lines = layOutRecord(labels, row, { width: Math.max(width, MIN_RECORD_WIDTH), paint });
    yield `${index === 0 ? '' : '\n'}${lines.join('\n')}\n`;
  }
}
