import type { Sink } from '../../cli/io.ts';
import type { ListResult, ObjectResult } from '../command-result.ts';
import { consume, writeSequence } from './sequence.ts';
import { stringifyJson } from './stringify-json.ts';

const FRAME = { open: '[\n', between: ',\n', close: '\n]\n', empty: '[]\n' };

/**
 * One JSON document: an object, or an array with an item on each line (indented on a terminal), or the list's own
 * document once its rows are through.
 */
export async function writeJson(answer: ListResult | ObjectResult, out: Sink): Promise<void> {
  if (answer.kind === 'object') return out.write(`${stringifyJson(answer.json, 2)}\n`);
  if (answer.document) {
    await consume(answer.rows);
    return out.write(`${stringifyJson(answer.document(), 2)}\n`);
  }
  const onOneLine = ({ json }: { json: unknown }) => stringifyJson(json);
  const indented = ({ json }: { json: unknown }) => `  ${stringifyJson(json, 2).replaceAll('\n', '\n  ')}`;
  return writeSequence(answer.rows, out.isTTY ? indented : onOneLine, FRAME, out);
}

/** One line of JSON for each row, written as it happens. */
export async function writeNdjson(answer: ListResult | ObjectResult, out: Sink): Promise<void> {
  if (answer.kind === 'object') return out.write(`${stringifyJson(answer.json)}\n`);
  for await (const { json } of answer.rows) await out.write(`${stringifyJson(json)}\n`);
}
