import type { Cell, ColumnLayout, ListResult, ObjectResult, ResultCell, Row } from './command-result.ts';

/** Which columns are shown, and in which order the rows are. Columns are named by their headers. */
export interface Arrangement {
  /** Undefined for all columns. */
  readonly columns?: readonly string[] | undefined;
  readonly sort?: { readonly header: string; readonly isDescending: boolean } | undefined;
}

function isEmpty(value: Cell): boolean {
  return value === null || value === undefined || value === '';
}

/** Creates a function that compares cells: numbers and times by value, texts in natural order (`job 2` before `job 10`). */
function createCompare({ isTime }: ColumnLayout): (a: Cell, b: Cell) => number {
  const collator = new Intl.Collator('en', { numeric: true });
  return (a, b) => {
    const [first, second] = isTime ? [Date.parse(String(a)), Date.parse(String(b))] : [a, b];
    if (typeof first === 'number' && typeof second === 'number' && !Number.isNaN(first - second)) return first - second;
    return collator.compare(String(a), String(b));
  };
}

/**
 * Reads all rows, then yields them sorted; rows without a value come last. If reading fails, yields the rows so far before it
 * throws.
 */
async function* sortRows(
  rows: AsyncIterable<Row>,
  index: number,
  compare: (a: Cell, b: Cell) => number,
): AsyncGenerator<Row> {
  const read: Row[] = [];
  let failure: { readonly error: unknown } | undefined;
  try {
    for await (const row of rows) read.push(row);
  } catch (error) {
    failure = { error };
  }
  const cellOf = ({ cells }: Row): Cell => cells[index]?.value;
  const filled = read.filter((row) => !isEmpty(cellOf(row)));
  const sorted = [
    ...filled.toSorted((a, b) => compare(cellOf(a), cellOf(b))),
    ...read.filter((row) => isEmpty(cellOf(row))),
  ];
  for (const [sortIndex, row] of sorted.entries()) yield { ...row, cells: row.cells, sortIndex };
  if (failure) throw failure.error;
}

async function* withCells(
  rows: AsyncIterable<Row>,
  choose: (cells: readonly ResultCell[]) => readonly ResultCell[],
): AsyncGenerator<Row> {
  for await (const row of rows) yield { ...row, cells: choose(row.cells) };
}

/** The indexes of the chosen columns. Ignores columns that the result does not have. */
function findColumns(columns: readonly ColumnLayout[], chosen: readonly string[]): number[] {
  return chosen.map((name) => columns.findIndex(({ header }) => header === name)).filter((index) => index >= 0);
}

function sortList(list: ListResult, { header, isDescending }: NonNullable<Arrangement['sort']>): ListResult {
  const index = list.columns.findIndex((column) => column.header === header);
  const column = list.columns[index];
  if (!column) return list;
  const compare = createCompare(column);
  return { ...list, rows: sortRows(list.rows, index, isDescending ? (a, b) => compare(b, a) : compare) };
}

/**
 * Selects columns of a result, and sorts its rows. Sorting reads all rows first. A list with a report becomes a table.
 * Columns that the result does not have are ignored; an object is not sorted.
 */
export function arrange(
  result: ListResult | ObjectResult,
  { columns: chosen = [], sort }: Arrangement,
): ListResult | ObjectResult {
  const indexes = findColumns(result.columns, chosen);
  const pick = <Item>(items: readonly Item[]): Item[] => indexes.flatMap((index) => items[index] ?? []);
  const columns = pick(result.columns).map((column) => ({ ...column, isOptional: false, isChosen: true }));
  if (result.kind === 'object') {
    return columns.length === 0 ? result : { ...result, columns, cells: pick(result.cells) };
  }
  if (result.columns.length === 0) return result;
  const { report: _, ...table } = sort ? sortList(result, sort) : result;
  return columns.length === 0 ? table : { ...table, columns, rows: withCells(table.rows, pick) };
}
