import type { Sink } from '../../platform/io.ts';
import { pagesOf } from '../../platform/paged.ts';
import type { Cell, ListResult, ObjectResult, Row } from '../command-result.ts';
import { cellText } from '../sanitize.ts';

/** Reads all rows, and returns the whole result in its JSON form. */
export async function toJsonForm(result: ListResult | ObjectResult): Promise<unknown> {
  if (result.kind === 'object') return result.json;
  const items: unknown[] = [];
  for await (const { json } of result.rows) items.push(json);
  return result.document ? result.document() : items;
}

/** Writes the line of an object, or of each row as it arrives; those of a page in one write. */
export async function writeLines(
  result: ListResult | ObjectResult,
  encode: (item: Row | ObjectResult) => string,
  out: Sink,
): Promise<void> {
  if (result.kind === 'object') return out.write(encode(result));
  for await (const page of pagesOf(result.rows)) {
    if (page.length > 0) await out.write(page.map(encode).join(''));
  }
}

/** Formats cells as a line, separated by tabs. */
export function tsvLine(cells: readonly Cell[]): string {
  return `${cells.map((cell) => cellText(cell)).join('\t')}\n`;
}

/** Formats an item as one line of its cells. */
export function tsvRow({ cells }: Row | ObjectResult): string {
  return tsvLine(cells.map(({ value }) => value));
}
