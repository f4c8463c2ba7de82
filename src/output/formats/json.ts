import type { Sink } from '../../cli/io.ts';
import type { ListResult, ObjectResult, Row } from '../command-result.ts';
import { consume, writeSequence } from './sequence.ts';
import { stringifyJson } from './stringify-json.ts';

const FRAME = { open: '[\n', between: ',\n', close: '\n]\n', empty: '[]\n' };

/**
 * Writes one JSON document: an object, the list's own document, or an array. The array has one item per line; in a
 * terminal, items are indented instead.
 */
export async function writeJson(result: ListResult | ObjectResult, out: Sink): Promise<void> {
  if (result.kind === 'object') return out.write(`${stringifyJson(result.json, 2)}\n`);
  if (result.document) {
    await consume(result.rows);
    return out.write(`${stringifyJson(result.document(), 2)}\n`);
  }
  const onOneLine = ({ json }: { json: unknown }) => stringifyJson(json);
  const indented = ({ json }: { json: unknown }) => `  ${stringifyJson(json, 2).replaceAll('\n', '\n  ')}`;
  return writeSequence(result.rows, out.isTTY ? indented : onOneLine, FRAME, out);
}

/** Writes one line of JSON per row, as rows arrive. */
export async function writeNdjson(result: ListResult | ObjectResult, out: Sink): Promise<void> {
  if (result.kind === 'object') return out.write(`${stringifyJson(result.json)}\n`);
  if (result.sharesWrites) return writeTogether(result.rows, out);
  for await (const { json } of result.rows) await out.write(`${stringifyJson(json)}\n`);
}

/** Writes the rows that arrive in one turn of the event loop, which is a page of a list, at once. */
async function writeTogether(rows: AsyncIterable<Row>, out: Sink): Promise<void> {
  let lines = '';
  let written = Promise.resolve();
  const writeLater = async (): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    const text = lines;
    lines = '';
    await out.write(text);
  };
  try {
    for await (const { json } of rows) {
      if (lines === '') {
        await written;
        written = writeLater();
        // It is awaited below; until then, a failure is not unhandled.
        written.catch(() => undefined);
      }
      lines += `${stringifyJson(json)}\n`;
    }
  } finally {
    await written;
  }
}
