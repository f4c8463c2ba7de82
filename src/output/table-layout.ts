import type Table from 'cli-table3';
import type { TextRow } from './cells.ts';
import type { Paint } from './color.ts';
import { displayWidth, graphemes, truncate, wrap } from './width.ts';

const GAP = '  ';

/** Below this many columns for each cell on average, a table is harder to read than cards. */
const READABLE_CELL = 12;

/** What a column that may be cut needs at the least beside columns that may not. */
const LEAST_CELL = 6;

/** No terminal is narrower for long; cards in less would be nothing but line breaks. */
const NARROWEST = 20;

/** Rows drawn at a time: the drawing library builds several objects for each cell. */
const CHUNK = 100;

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
  // The drawing library takes a width of 0 for "none given".
  const widths = headers.map((header) => Math.max(1, displayWidth(header)));
  for (const { texts } of rows) {
    for (const [index, text] of texts.entries()) widths[index] = Math.max(widths[index] ?? 1, displayWidth(text));
  }
  return widths;
}

/**
 * Shrinks widths until they fit the room, always taking from the widest.
 * @returns the widths in the order given; their sum is at most `room`, where `room` is one or more for each
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

const STAND_IN = '\ue000';
const STAND_IN_REST = '\ue001';

/**
 * The drawing library has an older idea of how wide a character is than today's terminals. It therefore gets stand-ins
 * of undoubted width for whatever is not ASCII; it draws in order, so `restore` puts the originals back one by one.
 */
function standIns() {
  const originals: string[] = [];
  let restored = 0;
  return {
    replace(text: string): string {
      if (/^[ -~]*$/.test(text)) return text;
      let result = '';
      for (const { text: original, width } of graphemes(text)) {
        originals.push(original);
        result += STAND_IN + STAND_IN_REST.repeat(width - 1);
      }
      return result;
    },
    restore(drawn: string): string {
      return drawn.replace(/\ue000\ue001*/g, () => originals[restored++] ?? '');
    },
  };
}

interface Sheet {
  readonly headers: readonly string[];
  readonly widths: readonly number[];
  readonly paint: Paint;
}

function drawn(TableClass: typeof Table, { headers, widths, paint }: Sheet, rows: readonly TextRow[]): string {
  const { replace, restore } = standIns();
  const head = headers.map((header, index) => paint(replace(truncate(header, widths[index] ?? 1)), 'heading'));
  const table = new TableClass({ ...FRAMELESS, head, colWidths: [...widths] });
  for (const { texts, tones } of rows) {
    table.push(texts.map((text, index) => paint(replace(truncate(text, widths[index] ?? 1)), tones[index])));
  }
  const lines = restore(table.toString()).split('\n');
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

/** What a table shows, as cleaned text. */
interface TableContent {
  /** One for each column; all empty for a table without a heading. */
  readonly headers: readonly string[];
  readonly rows: readonly TextRow[];
}

/**
 * Widths for the room there is: what must stay whole keeps its own, the rest shares what is left.
 * @returns undefined where that would leave too little to read
 */
function widthsFor(natural: readonly number[], whole: readonly boolean[], room: number): number[] | undefined {
  const flexible = natural.filter((_, index) => !whole[index]);
  const left = room - natural.reduce((sum, each, index) => sum + (whole[index] ? each : 0), 0);
  if (flexible.length === 0 || left < LEAST_CELL * flexible.length) return undefined;
  const shrunk = fitWidths(flexible, left);
  return natural.map((width, index) => (whole[index] ? width : (shrunk.shift() ?? width)));
}

/**
 * Lays rows out as frameless columns under a heading, or as one card for each row where columns would be too narrow to
 * read. Gives the text in pieces of whole lines.
 * @param width columns that no line exceeds (20 at least), or Infinity to cut nothing
 */
export async function* layOutTable(
  { headers, rows }: TableContent,
  width: number,
  paint: Paint,
): AsyncGenerator<string> {
  if (rows.length === 0 || headers.length === 0) return;
  const natural = naturalWidths(headers, rows);
  const room = width - GAP.length * (headers.length - 1);
  const fits = natural.reduce((sum, each) => sum + each, 0) <= room;
  const widths = fits ? natural : widthsFor(natural, rows[0]?.noTruncate ?? [], room);
  if (!widths || (!fits && width < READABLE_CELL * headers.length)) {
    for (const [index, row] of rows.entries()) {
      yield `${index === 0 ? '' : '\n'}${layOutCard(headers, row, Math.max(width, NARROWEST), paint).join('\n')}\n`;
    }
    return;
  }
  const headless = headers.every((header) => header === '');
  const { default: TableClass } = await import('cli-table3');
  for (let from = 0; from < rows.length; from += CHUNK) {
    const shownHeaders = headless || from > 0 ? [] : headers;
    yield drawn(TableClass, { headers: shownHeaders, widths, paint }, rows.slice(from, from + CHUNK));
  }
}

/**
 * One item as lines of `label: value`, values aligned, and wrapped where they are wider than the terminal. What is
 * empty is left out.
 * @param labels one for each cell; an empty one leaves the value alone on its line
 * @param width columns to stay within; at least 8, or Infinity to wrap nothing
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
      `${at === 0 ? lead : ' '.repeat(indent)}${paint(line, row.tones[index])}`.trimEnd(),
    );
  });
}
