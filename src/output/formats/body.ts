import type { Sink } from '../../platform/io.ts';
import type { BodyResult } from '../command-result.ts';
import { sanitizeLine, sanitizeText } from '../sanitize.ts';
import { stringifyJson } from './stringify-json.ts';

/** Decodes UTF-8, including a byte order mark. @returns undefined if the bytes are not UTF-8 */
function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Returns the JSON form of a body: the parsed JSON, else the text, else the bytes in base64; null if it is empty. */
export function bodyToJson({ bytes, json, head }: BodyResult): unknown {
  const body = json ? json.value : bytes.length === 0 ? null : (decode(bytes) ?? Buffer.from(bytes).toString('base64'));
  return head ? { ...head, body } : body;
}

function headText({ status, headers }: NonNullable<BodyResult['head']>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP ${status}`, ...lines].map((line) => `${sanitizeLine(line)}\n`).join('');
}

/** Formats a body for a terminal. */
function formatBody({ bytes, json }: BodyResult, redact: (text: string) => string): string {
  if (json) return `${stringifyJson(json.value, 2)}\n`;
  const text = decode(bytes);
  if (text === undefined) {
    return `(${bytes.length.toLocaleString('en')} bytes of binary data: redirect the output to a file)\n`;
  }
  const sanitized = sanitizeText(redact(text));
  return sanitized.endsWith('\n') ? sanitized : `${sanitized}\n`;
}

/** Writes a body: formatted in a terminal, unchanged elsewhere. */
export async function writeBody(result: BodyResult, out: Sink, redact = (text: string) => text): Promise<void> {
  const { bytes, head } = result;
  if (head) await out.write(`${headText(head)}\n`);
  if (bytes.length === 0) return;
  if (out.isTTY) return out.write(formatBody(result, redact));
  const text = decode(bytes);
  // Latin-1 preserves every byte, and lets the sink find a token among them.
  return text === undefined ? out.write(Buffer.from(bytes).toString('latin1'), 'latin1') : out.write(text);
}
