import { Document, visit } from 'yaml';
import type { Sink } from '../../platform/io.ts';
import type { ListResult, ObjectResult } from '../command-result.ts';
import { consume, writeSequence } from './sequence.ts';
import { escapeUnicode } from './stringify-json.ts';

// Characters to escape: controls except line feed and tab, and those that `stringifyJson` escapes. In YAML, only
// double-quoted strings support escapes. GitHub Actions would run `##[`, and `::` at the start of a line, as commands.
const HIDDEN = '\\p{Default_Ignorable_Code_Point}*';
const ESCAPED = `[\\0-\\x08\\x0b-\\x1f\\x7f-\\x9f\\p{Bidi_Control}\\u2028\\u2029\\ufeff\\ufffe\\uffff\\p{Cs}]|#(?=${HIDDEN}#${HIDDEN}\\[)`;
const UNSAFE = new RegExp(`${ESCAPED}|:${HIDDEN}:`, 'u');
const EVERY_ESCAPED = new RegExp(ESCAPED, 'gu');

/** Several lines, the first of which begins with white space: the library writes some as a block that reads back otherwise. */
const INDENTED = /^(?:\n+[ \t]|[ \t].*\n)/;

const FRAME = { open: '', between: '', close: '', empty: '[]\n' };

/**
 * Converts a value to block YAML that parses back to the value's JSON form and contains no characters that can affect a
 * terminal. Quotes strings that YAML 1.1 reads as another type (`no`, `12:30`).
 */
export function stringifyYaml(value: unknown): string {
  const document = new Document(value ?? null, { aliasDuplicateObjects: false, compat: 'yaml-1.1' });
  visit(document, {
    Scalar(_key, node) {
      if (typeof node.value !== 'string') return;
      if (UNSAFE.test(node.value) || INDENTED.test(node.value)) node.type = 'QUOTE_DOUBLE';
    },
  });
  // Keep each quoted string on one line.
  const text = document.toString({ lineWidth: 0, doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER });
  return text.replace(EVERY_ESCAPED, escapeUnicode);
}

/** Writes one YAML document: an object, a sequence, or the list's own document. */
export async function writeYaml(result: ListResult | ObjectResult, out: Sink): Promise<void> {
  if (result.kind === 'object') return out.write(stringifyYaml(result.json));
  if (result.document) {
    await consume(result.rows);
    return out.write(stringifyYaml(result.document()));
  }
  return writeSequence(result.rows, ({ json }) => stringifyYaml([json]), FRAME, out);
}
