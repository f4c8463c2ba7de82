import type { Sink } from '../../platform/io.ts';
import { pagesOf } from '../../platform/paged.ts';
import type { Row } from '../command-result.ts';

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
  const iterator = rows[Symbol.asyncIterator]();
  let step = await iterator.next();
  while (!step.done) step = await iterator.next();
}

/**
 * Writes rows as one document. Buffers about 4 MiB before the first write, then writes as rows arrive, which limits
 * memory use. If rows have a sortIndex, buffers all of them and sorts them.
 * @throws the error of the rows or the sink; stops reading rows then
 */
export async function writeSequence(
  rows: AsyncIterable<Row>,
  encode: (row: Row) => string,
  frame: Frame,
  out: Sink,
): Promise<void> {
  let buffer: { text: string; sortIndex: number }[] = [];
  let size = 0;
  let hasWritten = false;
  let mustSort = false;

  const takeBuffer = (): string => {
    const ordered = mustSort ? buffer.toSorted((a, b) => a.sortIndex - b.sortIndex) : buffer;
    const text = (hasWritten ? frame.between : frame.open) + ordered.map((item) => item.text).join(frame.between);
    buffer = [];
    size = 0;
    hasWritten = true;
    return text;
  };

  const add = (row: Row): void => {
    const text = encode(row);
    buffer.push({ text, sortIndex: row.sortIndex });
    size += text.length;
    mustSort ||= row.sortIndex !== 0 && !hasWritten;
  };

  for await (const page of pagesOf(rows)) {
    for (const row of page) add(row);
    if (!mustSort && size >= (hasWritten ? NEXT_WRITE : FIRST_WRITE)) await out.write(takeBuffer());
  }
  if (!hasWritten && buffer.length === 0) return out.write(frame.empty);
  await out.write((buffer.length > 0 ? takeBuffer() : '') + frame.close);
}
