import type { Sink } from '../../cli/io.ts';
import type { Row } from '../command-result.ts';

/** Characters buffered before the first write, so that an ordinary list which fails midway writes nothing. */
const FIRST_WRITE = 4 * 1024 * 1024;

/** Characters buffered for each later write. */
const NEXT_WRITE = 64 * 1024;

/** The text around the items of a sequence. */
interface Frame {
  readonly open: string;
  readonly between: string;
  readonly close: string;
  /** The whole text if there are no items. */
  readonly empty: string;
}

/** Reads all rows for their side effects. */
export async function consume(rows: AsyncIterable<Row>): Promise<void> {
  const iterator = rows[Symbol.asyncIterator]();
  let step = await iterator.next();
  while (!step.done) step = await iterator.next();
}

/**
 * Writes rows as one document. Buffers about 4 MiB before the first write, then writes as rows arrive, so that memory
 * does not grow with the list. Rows with a sortIndex are buffered to the end and sorted.
 * @throws what the rows or the sink fail with; reads no further rows then
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

  for await (const row of rows) {
    const text = encode(row);
    buffer.push({ text, sortIndex: row.sortIndex });
    size += text.length;
    mustSort ||= row.sortIndex !== 0 && !hasWritten;
    if (!mustSort && size >= (hasWritten ? NEXT_WRITE : FIRST_WRITE)) await out.write(takeBuffer());
  }
  if (!hasWritten && buffer.length === 0) return out.write(frame.empty);
  await out.write((buffer.length > 0 ? takeBuffer() : '') + frame.close);
}
