import { Document, visit } from 'yaml';
import { escapeUnicode } from './json.ts';

/** Controls except line feed and tab, and what `stringifyJson` escapes. Only double-quoted strings have escapes. */
const CONTROLS = /[\0-\x08\x0b-\x1f\x7f-\x9f\p{Bidi_Control}\u2028\u2029\ufeff\p{Cs}]/gu;

/**
 * Texts that need double quotes, too: the library writes some that begin with white space as a block that reads back
 * otherwise, and in GitHub Actions the sink escapes what would be a command.
 */
const QUOTED = /^\s|::|##\[/;

/**
 * Converts a value to block YAML that parses back to the value's JSON form and contains no characters that can affect a
 * terminal. Quotes strings that YAML 1.1 reads as another type (`no`, `12:30`).
 */
export function stringifyYaml(value: unknown): string {
  const document = new Document(value ?? null, { aliasDuplicateObjects: false, compat: 'yaml-1.1' });
  visit(document, {
    Scalar(_key, node) {
      if (typeof node.value !== 'string') return;
      if (node.value.search(CONTROLS) >= 0 || QUOTED.test(node.value)) node.type = 'QUOTE_DOUBLE';
    },
  });
  // Keep each quoted string on one line.
  const text = document.toString({ lineWidth: 0, doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER });
  return text.replace(CONTROLS, escapeUnicode);
}
