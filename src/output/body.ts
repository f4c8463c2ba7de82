import { isUtf8 } from 'node:buffer';
import type { Sink } from '../platform/io.ts';
import type { BodyResult } from './command-result.ts';
import { stringifyJson } from './json.ts';
import { sanitizeText } from './sanitize.ts';

/** Decodes UTF-8, including a byte order mark. @returns undefined if the bytes are not UTF-8 */
function decode(bytes: Uint8Array): string | undefined {
  return isUtf8(bytes) ? Buffer.from(bytes).toString() : undefined;
}

/** Returns the JSON form of a body: the parsed JSON, else the text, else the bytes in base64; null if it is empty. */
export function bodyToJson({ bytes, json }: BodyResult): unknown {
  if (json) return json.value;
  return bytes.length === 0 ? null : (decode(bytes) ?? Buffer.from(bytes).toString('base64'));
}

/** Writes a body: formatted in a terminal, unchanged elsewhere. */
export async function writeBody({ bytes, json }: BodyResult, out: Sink): Promise<void> {
  if (bytes.length === 0) return;
  const text = decode(bytes);
  if (out.isTTY) {
    if (json) return out.write(`${stringifyJson(json.value, 2)}\n`);
    if (text !== undefined) return out.write(`${sanitizeText(text).replace(/\n$/, '')}\n`);
    return out.write(`(${bytes.length} bytes of binary data: redirect the output to a file)\n`);
  }
  // Latin-1 preserves every byte, and lets the sink find a token among them.
  return text === undefined ? out.write(Buffer.from(bytes).toString('latin1'), 'latin1') : out.write(text);
}
