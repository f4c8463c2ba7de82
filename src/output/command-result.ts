import type { PartnerctlError } from '../errors.ts';

/** A cell as the command knows it; how it is cleaned, coloured and laid out is the renderer's business. */
export type Cell = string | number | boolean | null | undefined;

export type Tone = 'good' | 'bad' | 'warn' | 'dim';

export interface Column<Item> {
  /** Upper-case heading of the table; also the label on a card. */
  readonly header: string;
  readonly value: (item: Item) => Cell;
  readonly tone?: (item: Item) => Tone | undefined;
  /** Never cut to fit a table, so that it can be copied: an id. */
  readonly noTruncate?: boolean;
}

export interface ResultCell {
  readonly header: string;
  readonly value: Cell;
  readonly tone: Tone | undefined;
  readonly noTruncate: boolean;
}

/** One item of a list: what JSON shows, and what a row shows. */
export interface Row {
  readonly json: unknown;
  readonly cells: readonly ResultCell[];
  /** Where the row belongs in a table and a document; rows of equal sortIndex stay as they came. */
  readonly sortIndex: number;
}

/** A list: rows for people, an array (or one document) for scripts. Pulled once, written as it comes. */
export interface ListResult {
  readonly kind: 'list';
  readonly headers: readonly string[];
  readonly rows: AsyncIterable<Row>;
  /** Said on stderr when there is not a single row. */
  readonly empty: string;
  /** Asked once the rows are through: the one document that JSON and YAML show in place of the array. */
  readonly document?: () => unknown;
  /** Asked once the rows are through: a closing line for people, on stderr. */
  readonly summary?: () => string;
  /** Asked once the answer is out: the failure to report and exit with, if any. */
  readonly failure?: () => PartnerctlError | undefined;
}

/** What happens, as it happens, with no end in sight: JSON is one object a line, people read `text`. */
export interface StreamResult {
  readonly kind: 'stream';
  /** Pulled once. The next one is pulled after the one before it was written out, and not before. */
  readonly events: AsyncIterable<StreamEvent>;
}

export interface StreamEvent {
  readonly json: unknown;
  /** The tab-separated form; what people read where there is none. */
  readonly cells?: readonly Cell[];
  /** The lines that a person sees, already harmless. */
  readonly text: TonedText;
}

/** A text, or its parts in order, of which some have a tone where colours are shown. */
export type TonedText = string | readonly { readonly text: string; readonly tone?: Tone | undefined }[];

/** One object: labelled lines for people, the object for scripts. */
export interface ObjectResult {
  readonly kind: 'object';
  readonly json: unknown;
  readonly cells: readonly ResultCell[];
  /** Written in place of the cells where people read, and as tsv; already harmless. Nothing when it is empty. */
  readonly text?: string;
  /** The failure to report and exit with once the answer is out. */
  readonly failure?: PartnerctlError;
}

/** Text that is the answer as it stands, whatever the output format: a schema, shell lines. */
interface TextResult {
  readonly kind: 'text';
  readonly text: string;
}

/** Nothing on stdout; the exit code is what a wrapped command ended with. */
interface NoResult {
  readonly kind: 'none';
  readonly exitCode?: number;
}

export type CommandResult = ListResult | StreamResult | ObjectResult | TextResult | NoResult;

function cellsOf<Item>(item: Item, columns: readonly Column<Item>[]): ResultCell[] {
  return columns.map(({ header, value, tone, noTruncate = false }) => ({
    header,
    value: value(item),
    tone: tone?.(item),
    noTruncate,
  }));
}

export interface ListOptions<Item> {
  readonly empty: string;
  /** What JSON shows for an item; the item itself by default. */
  readonly json?: (item: Item) => unknown;
  readonly sortIndex?: (item: Item) => number;
  readonly document?: () => unknown;
  readonly summary?: () => string;
  readonly failure?: () => PartnerctlError | undefined;
}

/** A list answer from typed items. The items are pulled only as the rows are. */
export function listResult<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  columns: readonly Column<Item>[],
  options: ListOptions<Item>,
): ListResult {
  const { empty, json, sortIndex, document, summary, failure } = options;
  async function* rows(): AsyncGenerator<Row> {
    for await (const item of items) {
      yield { json: json ? json(item) : item, cells: cellsOf(item, columns), sortIndex: sortIndex?.(item) ?? 0 };
    }
  }
  return {
    kind: 'list',
    headers: columns.map(({ header }) => header),
    rows: rows(),
    empty,
    ...(document && { document }),
    ...(summary && { summary }),
    ...(failure && { failure }),
  };
}

/** An object answer: `columns` become the labelled lines. */
export function objectResult<Data>(data: Data, columns: readonly Column<Data>[]): ObjectResult {
  return { kind: 'object', json: data, cells: cellsOf(data, columns) };
}
