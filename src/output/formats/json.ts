import type { Sink } from '../../platform/io.ts';
import { pagesOf } from '../../platform/paged.ts';
import type { ListResult, ObjectResult } from '../command-result.ts';
import { toJsonForm } from './rows.ts';
import { stringifyJson } from './stringify-json.ts';

/** The number of characters to buffer before the first write, so that a short list that fails midway writes nothing. */
const FIRST_WRITE = 4 * 1024 * 1024;

/** The number of characters to buffer before each later write. */
const NEXT_WRITE = 64 * 1024;

/**
 * Writes one JSON document: an object, the list's own document, or an array with one item per line, as its rows arrive. In a
 * terminal, all of them are indented instead.
 * @throws the error of the rows or the sink; stops reading rows then
 */
export async function writeJson(result: ListResult | ObjectResult, out: Sink): Promise<void> {
  if (result.kind === 'object' || result.document || out.isTTY) {
    return out.write(`${stringifyJson(await toJsonForm(result), 2)}\n`);
  }
  let buffer = '[\n';
  let separator = '';
  let limit = FIRST_WRITE;
  for await (const page of pagesOf(result.rows)) {
    for (const { json } of page) {
      buffer += separator + stringifyJson(json);
      separator = ',\n';
    }
    if (buffer.length < limit) continue;
    await out.write(buffer);
    buffer = '';
    limit = NEXT_WRITE;
  }
  await out.write(separator === '' ? '[]\n' : `${buffer}\n]\n`);
}

/** Formats an item as one line of JSON. */
export function jsonLine({ json }: { readonly json: unknown }): string {
  return `${stringifyJson(json)}\n`;
}
