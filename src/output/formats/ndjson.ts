import type { Sink } from '../../cli/io.ts';
import type { ListResult, ObjectResult } from '../command-result.ts';
import { jsonText } from './json-text.ts';

/** One line of JSON for each row, written as it happens. */
export async function writeNdjson(answer: ListResult | ObjectResult, out: Sink): Promise<void> {
  if (answer.kind === 'object') return out.write(`${jsonText(answer.json)}\n`);
  for await (const { json } of answer.rows) await out.write(`${jsonText(json)}\n`);
}
