import { Document, visit } from 'yaml';
import type { Sink } from '../../cli/io.ts';
import type { ListResult, ObjectResult } from '../command-result.ts';
import { consume, writeSequence } from './sequence.ts';
import { escapeUnicode } from './stringify-json.ts';

// Characters that have to be escapes: controls other than line feed and tab, and those that JSON escapes too. YAML
// knows escapes in double quotes alone.
const ESCAPED = /[\0-\x08\x0b-\x1f\x7f-\x9f\p{Bidi_Control}\u2028\u2029\ufeff\ufffe\uffff\p{Cs}]/u;
const EVERY_ESCAPED = new RegExp(ESCAPED, 'gu');

const FRAME = { open: '', between: '', close: '', empty: '[]\n' };

/**
 * Block YAML that parses back to what the value's JSON holds, and holds nothing that a terminal acts upon. Texts that
 * YAML 1.1 would take for something else (`no`, `12:30`) are quoted.
 */
export function stringifyYaml(value: unknown): string {
  const plain: unknown = JSON.parse(JSON.stringify(value) ?? 'null');
  const document = new Document(plain, { aliasDuplicateObjects: false, compat: 'yaml-1.1' });
  visit(document, {
    Scalar(_key, node) {
      if (typeof node.value === 'string' && ESCAPED.test(node.value)) node.type = 'QUOTE_DOUBLE';
    },
  });
  return document.toString({ lineWidth: 0 }).replace(EVERY_ESCAPED, escapeUnicode);
}

/** One YAML document: an object, a sequence written as `writeSequence` does, or the list's own document. */
export async function writeYaml(answer: ListResult | ObjectResult, out: Sink): Promise<void> {
  if (answer.kind === 'object') return out.write(stringifyYaml(answer.json));
  if (answer.document) {
    await consume(answer.rows);
    return out.write(stringifyYaml(answer.document()));
  }
  return writeSequence(answer.rows, ({ json }) => stringifyYaml([json]), FRAME, out);
}
