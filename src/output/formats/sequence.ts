import type { Sink } from '../../cli/io.ts';
import type { Row } from '../command-result.ts';

/** Characters held back before the first write, so that a failure half-way through an ordinary list writes nothing. */
const HOLD = 4 * 1024 * 1024;

/** Characters gathered for one write after that. */
const BATCH = 64 * 1024;

/** What stands around the items of a sequence. */
interface Frame {
  readonly open: string;
  readonly between: string;
  readonly close: string;
  /** The whole text when there is no item. */
  readonly empty: string;
}

/** Pulls rows to the end for their effects alone. */
export async function consume(rows: AsyncIterable<Row>): Promise<void> {
  const iterator = rows[Symbol.asyncIterator]();
  let step = await iterator.next();
  while (!step.done) step = await iterator.next();
}

/**
 * Writes rows as one document: nothing until the rows are through or about 4 MiB are held, then as they come, so that
 * memory does not grow with the list. Rows that have ranks are held to the end and put in order.
 * Rejects with what the rows or the sink fail with, and pulls no further then.
 */
export async function writeSequence(
  rows: AsyncIterable<Row>,
  encode: (row: Row) => string,
  frame: Frame,
  out: Sink,
): Promise<void> {
  let held: { text: string; rank: number }[] = [];
  let size = 0;
  let started = false;
  let ranked = false;

  const takeHeld = (): string => {
    const ordered = ranked ? held.toSorted((a, b) => a.rank - b.rank) : held;
    const text = (started ? frame.between : frame.open) + ordered.map((each) => each.text).join(frame.between);
    held = [];
    size = 0;
    started = true;
    return text;
  };

  for await (const row of rows) {
    const text = encode(row);
    held.push({ text, rank: row.sortIndex });
    size += text.length;
    ranked ||= row.sortIndex !== 0 && !started;
    if (!ranked && size >= (started ? BATCH : HOLD)) await out.write(takeHeld());
  }
  if (!started && held.length === 0) return out.write(frame.empty);
  await out.write((held.length > 0 ? takeHeld() : '') + frame.close);
}
