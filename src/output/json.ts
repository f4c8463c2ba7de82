import type { Sink } from '../platform/io.ts';
import { Paged } from '../platform/paged.ts';
import type { ListResult, ObjectResult } from './command-result.ts';

// Characters that can affect a terminal and that JSON.stringify does not escape: DEL, C1, bidi controls, line and
// paragraph separators, byte order mark. (It escapes C0 and lone surrogates.) GitHub Actions would run `##[`.
const UNSAFE_IN_JSON = /[\x7f-\x9f\p{Bidi_Control}\u2028\u2029\ufeff]|#(?=#\[)/gu;

/** A check that is ten times as fast, and rules out most texts. */
const MAY_BE_UNSAFE = /[#\x7f-\uffff]/;

/** Returns the `\uXXXX` escape of a character in the basic plane. */
export function escapeUnicode(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** JSON.stringify for values with integers too large for a JavaScript number. */
function stringifyBigInts(value: unknown, indent: number): string {
  // A mark that no key or text contains.
  const mark = crypto.randomUUID();
  const marked = (_: string, item: unknown) => (typeof item === 'bigint' ? `${mark}${item}` : item);
  return JSON.stringify(value, marked, indent).replaceAll(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1');
}

function stringify(value: unknown, indent: number): string {
  try {
    return JSON.stringify(value, null, indent) ?? 'null';
  } catch (error) {
    // Use the replacer only if needed, because it is slow.
    if (error instanceof TypeError && /BigInt/.test(error.message)) return stringifyBigInts(value, indent);
    throw error;
  }
}

/**
 * Converts a value to JSON that parses back to exactly that value and contains no characters that can affect a
 * terminal. Supports bigint; `undefined` becomes null.
 * @param indent spaces per level; 0 for one line
 */
export function stringifyJson(value: unknown, indent = 0): string {
  const text = stringify(value, indent);
  return MAY_BE_UNSAFE.test(text) ? text.replace(UNSAFE_IN_JSON, escapeUnicode) : text;
}

/** Reads all rows, and returns the whole result in its JSON form. */
export async function toJsonForm(result: ListResult | ObjectResult): Promise<unknown> {
  if (result.kind === 'object') return result.json;
  const items: unknown[] = [];
  for await (const row of result.rows) if (!result.document) items.push(row.json);
  return result.document ? result.document() : items;
}

/** How many characters to buffer before the first write: a short list that fails midway writes nothing. */
const FIRST_WRITE = 4 * 1024 * 1024;
const NEXT_WRITE = 64 * 1024;

/**
 * Writes one JSON document: an object, the list's own document, or an array with one item per line, as its rows arrive.
 * In a terminal, all of them are indented instead.
 * @throws the error of the rows or the sink; stops reading rows then
 */
export async function writeJson(result: ListResult | ObjectResult, out: Sink): Promise<void> {
  if (result.kind === 'object' || result.document || out.isTTY) {
    return out.write(`${stringifyJson(await toJsonForm(result), 2)}\n`);
  }
  let buffer = '[\n';
  let separator = '';
  let limit = FIRST_WRITE;
  for await (const page of Paged.of(result.rows).pages) {
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
