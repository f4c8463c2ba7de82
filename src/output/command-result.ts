import type { PartnerctlError } from '../errors.ts';

export const OUTPUT_FORMATS = ['table', 'json', 'ndjson', 'yaml', 'tsv'] as const;

export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** A cell as the command knows it. The renderer sanitizes, colors, and lays it out. */
export type Cell = string | number | boolean | null | undefined;

export type Tone = 'good' | 'bad' | 'warn' | 'dim';

export interface Column<Item> {
  /** The heading in a table, in upper case, and the label on a card. */
  readonly header: string;
  readonly value: (item: Item) => Cell;
  readonly tone?: (item: Item) => Tone | undefined;
  /** Never shortened to fit a table, so that it can be copied: an id. */
  readonly noTruncate?: boolean;
}

export interface ResultCell {
  readonly header: string;
  readonly value: Cell;
  readonly tone: Tone | undefined;
  readonly noTruncate: boolean;
}

/** An item of a list: its JSON and its cells. */
export interface Row {
  readonly json: unknown;
  readonly cells: readonly ResultCell[];
  /** The position in a table and in a document. Rows with equal values keep their order. */
  readonly sortIndex: number;
}

/** A list: rows for people, an array (or one document) for scripts. Read once, and written as rows arrive. */
export interface ListResult {
  readonly kind: 'list';
  readonly headers: readonly string[];
  readonly rows: AsyncIterable<Row>;
  /** The notice on stderr if there are no rows. */
  readonly empty: string;
  /** Called after the last row: the document that JSON and YAML show instead of an array. */
  readonly document?: () => unknown;
  /** Called after the last row: a closing line for people, on stderr. */
  readonly summary?: () => string;
  /** Called when the output is written: the failure to report and exit with, if any. */
  readonly failure?: () => PartnerctlError | undefined;
}

/** Events as they happen, possibly without end: one JSON object per line, `text` for people. */
export interface StreamResult {
  readonly kind: 'stream';
  /** Read once. The next event is requested only when the previous one is written. */
  readonly events: AsyncIterable<StreamEvent>;
}

export interface StreamEvent {
  readonly json: unknown;
  /** The tab-separated form; `text` if absent. */
  readonly cells?: readonly Cell[];
  /** The lines for people, already sanitized. */
  readonly text: TonedText;
}

/** A text, or its parts in order, some with a tone to show in color. */
export type TonedText = string | readonly { readonly text: string; readonly tone?: Tone | undefined }[];

/** An object: labeled lines for people, the object for scripts. */
export interface ObjectResult {
  readonly kind: 'object';
  readonly json: unknown;
  readonly cells: readonly ResultCell[];
  /** Replaces the cells for people and in tsv. Already sanitized; may be empty. */
  readonly text?: string;
  /** The failure to report and exit with when the output is written. */
  readonly failure?: PartnerctlError;
}

/** Text to print as it is, whatever the output format: a schema, shell lines. */
interface TextResult {
  readonly kind: 'text';
  readonly text: string;
}

/** No output. The exit code is that of a wrapped command. */
interface NoResult {
  readonly kind: 'none';
  readonly exitCode?: number;
}

export type CommandResult = ListResult | StreamResult | ObjectResult | TextResult | NoResult;

function toCells<Item>(item: Item, columns: readonly Column<Item>[]): ResultCell[] {
  return columns.map(({ header, value, tone, noTruncate = false }) => ({
    header,
    value: value(item),
    tone: tone?.(item),
    noTruncate,
  }));
}

export interface ListOptions<Item> extends Pick<ListResult, 'empty' | 'document' | 'summary' | 'failure'> {
  /** The JSON of an item; the item itself by default. */
  readonly json?: (item: Item) => unknown;
  readonly sortIndex?: (item: Item) => number;
}

/** Builds a list from items, which are read only when the rows are. */
export function listResult<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  columns: readonly Column<Item>[],
  { json, sortIndex, ...rest }: ListOptions<Item>,
): ListResult {
  async function* rows(): AsyncGenerator<Row> {
    for await (const item of items) {
      yield { json: json ? json(item) : item, cells: toCells(item, columns), sortIndex: sortIndex?.(item) ?? 0 };
    }
  }
  return { kind: 'list', headers: columns.map(({ header }) => header), rows: rows(), ...rest };
}

/** Builds an object; `columns` become its labeled lines. */
export function objectResult<Data>(data: Data, columns: readonly Column<Data>[]): ObjectResult {
  return { kind: 'object', json: data, cells: toCells(data, columns) };
}
