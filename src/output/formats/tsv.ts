import type { Sink } from '../../cli/io.ts';
import { cellText } from '../cells.ts';
import type { ListResult, ObjectResult, ResultCell } from '../command-result.ts';

function line(cells: readonly ResultCell[]): string {
  return `${cells.map(({ value }) => cellText(value)).join('\t')}\n`;
}

/** One line of tab-separated cells for each row, without a heading, written as it happens; an object is one row. */
export async function writeTsv(answer: ListResult | ObjectResult, out: Sink): Promise<void> {
  if (answer.kind === 'object') return out.write(line(answer.cells));
  for await (const { cells } of answer.rows) await out.write(line(cells));
}
