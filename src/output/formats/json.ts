import type { Sink } from '../../platform/io.ts';
import type { ListResult, ObjectResult, Row } from '../command-result.ts';
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
  const encode = ({ json }: Row): string =>
    out.isTTY ? `  ${stringifyJson(json, 2).replaceAll('\n', '\n  ')}` : stringifyJson(json);
  return writeSequence(result.rows, encode, FRAME, out);
}

/** Formats an item as one line of JSON. */
export function jsonLine({ json }: { readonly json: unknown }): string {
  return `${stringifyJson(json)}\n`;
}
