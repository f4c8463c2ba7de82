import * as v from 'valibot';
import { CONTROL, HAS_CONTROLS, NOT_TRIMMED, TRIMMED_LINE } from './text.ts';

/** A mapping with no keys but these. Its message lists them, for the report of an unknown key. */
export function mapping<const Entries extends v.ObjectEntries>(entries: Entries) {
  return v.strictObject(entries, Object.keys(entries).join(' '));
}

/** Text that identifies something: one line, without control characters or white space around it. */
export function identifier(description: string) {
  return v.pipe(
    v.string(),
    v.nonEmpty('must not be empty'),
    v.regex(TRIMMED_LINE, NOT_TRIMMED),
    v.check((text) => !CONTROL.test(text), HAS_CONTROLS),
    v.description(description),
  );
}

/** Any text that is not blank. */
export function nonBlankText(description: string) {
  return v.pipe(v.string(), v.regex(/\S/, 'must not be empty'), v.description(description));
}
