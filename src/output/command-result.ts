import type { ExitCode, PartnerctlError } from '../errors.ts';
import { Paged } from '../platform/paged.ts';

export const OUTPUT_FORMATS = ['table', 'json', 'ndjson', 'yaml', 'tsv'] as const;

export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** What each format is: no other place compares their names. How each is written stands in `render.ts` and `lines.ts`. */
export const FORMATS: Readonly<
  Record<
    OutputFormat,
    {
      /** It shows cells and reports; other formats show the JSON form. */
      readonly isForPeople: boolean;
      /** It is laid out for a screen: wrapped, aligned, colored. */
      readonly isLaidOut: boolean;
      /** stderr has errors as JSON, and nothing for the log of a CI system. */
      readonly hasJsonErrors: boolean;
    }
  >
> = {
  table: { isForPeople: true, isLaidOut: true, hasJsonErrors: false },
  json: { isForPeople: false, isLaidOut: false, hasJsonErrors: true },
  ndjson: { isForPeople: false, isLaidOut: false, hasJsonErrors: true },
  yaml: { isForPeople: false, isLaidOut: false, hasJsonErrors: false },
  tsv: { isForPeople: true, isLaidOut: false, hasJsonErrors: false },
};

/** The format of a name, as a flag or the environment has it. */
export function findFormat(name: string | undefined): OutputFormat | undefined {
  return OUTPUT_FORMATS.find((format) => format === name);
}

/** Raw: the renderer sanitizes it. */
export type Cell = string | number | boolean | null | undefined;

export type Tone = 'good' | 'bad' | 'warn' | 'dim';

/** Colors that tell things of one kind apart, and say nothing else. */
export const SERIES = ['series1', 'series2', 'series3', 'series4', 'series5'] as const;

/** A tone, or `heading` (stands out), or `plain` (no tone, although the line has one), or the color of a series. */
export type Style = Tone | 'heading' | 'plain' | (typeof SERIES)[number];

/** Plain text, or a list of parts with optional tones. */
export type TonedText = string | readonly { readonly text: string; readonly tone?: Style | undefined }[];

export interface ColumnLayout {
  /** The heading in a table and the label of a record, in upper case. */
  readonly header: string;
  /** Which end of a value a narrow terminal leaves out. Only such columns are shortened: ids stay whole. */
  readonly fit?: 'start' | 'end' | undefined;
  /** The values are sentences, which stand below their rows. */
  readonly isNote?: boolean | undefined;
  /** A narrow terminal leaves out as few of them as it takes, the last one first. */
  readonly isOptional?: boolean | undefined;
  /** Only --wide and rows in a pipe show it. */
  readonly isWide?: boolean | undefined;
  /** The values contain times in ISO 8601, which a table in a terminal shows relative to now. */
  readonly isTime?: boolean | undefined;
}

export interface Column<Item> extends ColumnLayout {
  readonly value: (item: Item) => Cell;
  readonly tone?: (item: Item) => Tone | undefined;
}

export interface ResultCell {
  readonly value: Cell;
  readonly tone: Tone | undefined;
}

/** An item that a command processes. All texts are raw. */
export interface BatchItem {
  /** What it is called in the user's input. */
  readonly name: string;
  /** The file and the line that describe it: `acme.yaml:3`. */
  readonly source?: string | undefined;
  readonly status: string;
  readonly id?: string | null;
  readonly error?: unknown;
  /** All of its failures, of which `error` is the first, each with the file and the line that it is about. */
  readonly failures?: readonly { readonly error: unknown; readonly source?: string | undefined }[];
  /** Whether it was not started. Then its error is no failure of its own. */
  readonly isUnfinished?: boolean;
  /** What a summary in CI shows below its failure. */
  readonly lines?: () => readonly ReportLine[];
}

export interface Row {
  readonly json: unknown;
  /** One for each column of the list. */
  readonly cells: readonly ResultCell[];
  /** The order in tables. Rows with equal values keep their order. */
  readonly sortIndex: number;
}

/** A line of a report. In a terminal it wraps with a hanging indent; it is never shortened. */
export interface ReportLine {
  /** The indentation of the marker in columns. */
  readonly indent: number;
  /** Precedes the text, such as `+`. */
  readonly marker?: string;
  /** Raw: the renderer sanitizes it. Parts without a tone get that of the line. */
  readonly text: TonedText;
  readonly tone?: Style | undefined;
}

/** A list: rows for people, an array or one document for scripts. The functions are called after the last row. */
export interface ListResult {
  readonly kind: 'list';
  readonly columns: readonly ColumnLayout[];
  /** Can be read only once. */
  readonly rows: AsyncIterable<Row>;
  /** The notice to write to stderr if there are no rows, if any. */
  readonly empty?: string;
  /** What people see instead of a table. */
  readonly report?: () => readonly ReportLine[];
  /** What CI shows: a section of the summary for each, and an annotation for each failure. */
  readonly ci?: () => readonly BatchItem[];
  /** The document that JSON and YAML show instead of an array. */
  readonly document?: () => unknown;
  /** A summary for people, for stderr. */
  readonly summary?: () => string;
  /** The error to report and exit with, if any, after all output is written: shorter below a report on the same screen. */
  readonly failure?: (isOnScreen?: boolean) => PartnerctlError | undefined;
  /** The exit code if there is no failure. */
  readonly exitCode?: () => ExitCode;
}

export interface StreamEvent {
  readonly json: unknown;
  /** The cells for tsv, which shows `text` if this is absent. */
  readonly cells?: readonly Cell[];
  /** The lines for people, already sanitized. */
  readonly text: TonedText;
}

/** A table as it is at a time, in milliseconds since the epoch. */
export interface Screen {
  readonly list: ListResult;
  readonly now: number;
}

/** A possibly endless stream of events: one JSON object per line for scripts, `text` for people. */
export interface StreamResult {
  readonly kind: 'stream';
  /** Can be read only once. The renderer requests the next event after it has written the previous one. */
  readonly events: AsyncIterable<StreamEvent>;
  /** Fields as each event has them. A --query that does not apply to them is refused before the first event. */
  readonly sample?: Readonly<Record<string, string>>;
  /** What a terminal shows instead of the events: tables, each drawn over the one before. */
  readonly screens?: AsyncIterable<Screen> | undefined;
  /** The error if the reader is gone, where what it did not get is not done; by default, that is no failure. */
  readonly readerGone?: PartnerctlError | undefined;
}

/** An object: labeled lines for people, the object for scripts. */
export interface ObjectResult {
  readonly kind: 'object';
  readonly json: unknown;
  readonly columns: readonly ColumnLayout[];
  /** One for each column. */
  readonly cells: readonly ResultCell[];
  /** Replaces the cells for people and in tsv. Already sanitized; may be empty. */
  readonly text?: string;
  /** What people see instead of the cells. */
  readonly report?: () => readonly ReportLine[];
  /** The error to report and exit with after the output is written. */
  readonly failure?: PartnerctlError | undefined;
}

/** The body of a response: formatted in a terminal, unchanged elsewhere. */
export interface BodyResult {
  readonly kind: 'body';
  readonly bytes: Uint8Array;
  /** The parsed body; undefined if it is not JSON. */
  readonly json: { readonly value: unknown } | undefined;
  readonly failure?: PartnerctlError | undefined;
}

/** What a command returns: `text` is the same in every format; `exitCode` of `none` is that of a wrapped command. */
export type CommandResult =
  | ListResult
  | StreamResult
  | ObjectResult
  | BodyResult
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'none'; readonly exitCode?: number };

/**
 * Returns the error to report and exit with, if any. Call it after all rows of a list are read.
 * @param isOnScreen whether the result stands above it in a terminal
 */
export function failureOf(result: CommandResult, isOnScreen = false): PartnerctlError | undefined {
  if (result.kind === 'object' || result.kind === 'body') return result.failure;
  return result.kind === 'list' ? result.failure?.(isOnScreen) : undefined;
}

export interface ListOptions<Item> extends Omit<ListResult, 'kind' | 'columns' | 'rows'> {
  /** Converts an item to its JSON form; by default, the item itself. */
  readonly json?: (item: Item) => unknown;
  readonly sortIndex?: (item: Item) => number;
}

/**
 * The row of an item. Its parts are computed on access: no format needs all of them, and a list may have 100,000.
 * A class shares its getters; an object literal would have four of its own for each item.
 */
class ItemRow<Item> implements Row {
  private readonly item: Item;
  private readonly columns: readonly Column<Item>[];
  private readonly options: ListOptions<Item>;

  constructor(item: Item, columns: readonly Column<Item>[], options: ListOptions<Item>) {
    this.item = item;
    this.columns = columns;
    this.options = options;
  }

  get json(): unknown {
    return this.options.json ? this.options.json(this.item) : this.item;
  }

  get cells(): readonly ResultCell[] {
    return this.columns.map(({ value, tone }) => ({ value: value(this.item), tone: tone?.(this.item) }));
  }

  get sortIndex(): number {
    return this.options.sortIndex?.(this.item) ?? 0;
  }
}

/** Builds a list. Reads the items as the renderer reads the rows. */
export function listResult<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  columns: readonly Column<Item>[],
  options: ListOptions<Item> = {},
): ListResult {
  const { json, sortIndex, ...rest } = options;
  const rows = Paged.of(items).map((item) => new ItemRow(item, columns, options));
  return { kind: 'list', columns, rows, ...rest };
}

/** Columns of plain values, each with the name of its field: `base_url` as BASE URL. */
export function recordColumns<Name extends string>(names: readonly Name[]): Column<Readonly<Record<Name, Cell>>>[] {
  return names.map((name) => ({
    header: name.replaceAll('_', ' ').toUpperCase(),
    value: ({ [name]: value }) => (typeof value === 'boolean' ? (value ? 'yes' : 'no') : value),
  }));
}

/** Builds an object of plain values, each labeled with its name. @param json what scripts get, if it is more */
export function recordResult(data: Readonly<Record<string, Cell>>, json: unknown = data): ObjectResult {
  return { ...objectResult(data, recordColumns(Object.keys(data))), json };
}

/** Builds an object that people see as lines. */
export function reportResult(json: unknown, report: readonly ReportLine[]): ObjectResult {
  return { ...objectResult(json, []), report: () => report };
}

/** Builds an object. Tables show a labeled line for each column. */
export function objectResult<Data>(data: Data, columns: readonly Column<Data>[]): ObjectResult {
  const { cells } = new ItemRow(data, columns, {});
  return { kind: 'object', json: data, columns, cells };
}
