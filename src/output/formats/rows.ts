import type { Sink } from '../../platform/io.ts';
import { pagesOf } from '../../platform/paged.ts';
import type { ListResult, ObjectResult, Row } from '../command-result.ts';

/** The number of characters to buffer before the first write, so that a short list that fails midway writes nothing. */
const FIRST_WRITE = 4 * 1024 * 1024;

/** The number of characters to buffer before each later write. */
const NEXT_WRITE = 64 * 1024;

/** The text around the items of a sequence. */
interface Frame {
  readonly open: string;
  readonly between: string;
  readonly close: string;
  /** The text to write if there are no items. */
  readonly empty: string;
}

/** Reads all rows for their side effects. */
export async function consume(rows: AsyncIterable<Row>): Promise<void> {
  for await (const _page of pagesOf(rows));
}

/** Reads all rows, and returns the whole result in its JSON form. */
export async function toJsonForm(result: ListResult | ObjectResult): Promise<unknown> {
  if (result.kind === 'object') return result.json;
  const items: unknown[] = [];
  for await (const { json } of result.rows) items.push(json);
  return result.document ? result.document() : items;
}

/** Writes the lines of an object, or of each row as it arrives; those of a page in one write. */
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

/**
 * Writes rows as one document. Buffers about 4 MiB before the first write, then writes as rows arrive, which limits
 * memory use.
 * @throws the error of the rows or the sink; stops reading rows then
 */
export async function writeSequence(
  rows: AsyncIterable<Row>,
  encode: (row: Row) => string,
  frame: Frame,
  out: Sink,
): Promise<void> {
  let buffer = '';
  let separator = frame.open;
  let limit = FIRST_WRITE;
  for await (const page of pagesOf(rows)) {
    for (const row of page) {
      buffer += separator + encode(row);
      separator = frame.between;
    }
    if (buffer.length < limit) continue;
    await out.write(buffer);
    buffer = '';
    limit = NEXT_WRITE;
  }
  const isEmpty = limit === FIRST_WRITE && buffer === '';
  await out.write(isEmpty ? frame.empty : buffer + frame.close);
}
