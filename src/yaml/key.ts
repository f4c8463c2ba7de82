import { isScalar } from 'yaml';
import type { Findings, Span } from './finding.ts';
import { quoted } from './shown.ts';

/** The text of a mapping's key; undefined, and a finding, where it is not text that can be a key. */
export function readKey(key: unknown, span: Span, findings: Findings): string | undefined {
  if (!isScalar(key)) {
    const hint = 'put quotes around a value that begins with [, {, * or &';
    findings.add({ ...span, length: 1 }, 'a key must be text, not a list, mapping or alias', hint);
  } else if (key.value === null && span.length === 0) {
    findings.add(span, 'a key is empty');
  } else if (typeof key.value !== 'string') {
    findings.add(span, 'a key must be text', `put quotes around it: ${quoted(key.source ?? '')}`);
  } else if (key.value.includes('${')) {
    findings.add(span, 'variables are put into values only, not into keys');
  } else {
    return key.value;
  }
  return undefined;
}
