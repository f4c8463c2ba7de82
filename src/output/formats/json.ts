import type { Sink } from '../../platform/io.ts';
import { pagesOf } from '../../platform/paged.ts';
import type { ListResult, ObjectResult } from '../command-result.ts';
import { toJsonForm, writeSequence } from './rows.ts';
import { stringifyJson } from './stringify-json.ts';

const FRAME = { open: '[\n', between: ',\n', close: '\n]\n', empty: '[]\n' };

/**
 * Writes one JSON document: an object, the list's own document, or an array. The array has one item per line; in a
 * terminal, items are indented instead.
 */
export async function writeJson(result: ListResult | ObjectResult, out: Sink): Promise<void> {
  if (result.kind === 'object' || result.document) {
    return out.write(`${stringifyJson(await toJsonForm(result), 2)}\n`);
  }
  const onOneLine = ({ json }: { json: unknown }) => stringifyJson(json);
  const indented = ({ json }: { json: unknown }) => `  ${stringifyJson(json, 2).replaceAll('\n', '\n  ')}`;
  return writeSequence(result.rows, out.isTTY ? indented : onOneLine, FRAME, out);
}

/** Writes one line of JSON per row, as the rows arrive; the rows of a page in one write. */
export async function writeNdjson(result: ListResult | ObjectResult, out: Sink): Promise<void> {
  if (result.kind === 'object') return out.write(`${stringifyJson(result.json)}\n`);
  for await (const page of pagesOf(result.rows)) {
    if (page.length > 0) await out.write(page.map(({ json }) => `${stringifyJson(json)}\n`).join(''));
  }
}
