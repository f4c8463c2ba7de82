import * as v from 'valibot';
import { suggest } from '../platform/text.ts';
import { CONTROL, HAS_CONTROLS, NOT_TRIMMED, quoted, TRIMMED_LINE } from './text.ts';

/** A mapping with no keys but these. The message about another key is a hint. */
export function mapping<const Entries extends v.ObjectEntries>(entries: Entries) {
  return v.strictObject(entries, ({ path }) => {
    const [{ key, input }] = path ?? [{}];
    const known = Object.keys(entries);
    const missing = known.filter((each) => !Object.hasOwn(Object(input), each));
    const meant = suggest(String(key), missing);
    return meant === undefined ? `valid keys: ${known.join(', ')}` : `did you mean ${quoted(meant)}?`;
  });
}

/**
 * A schema of several forms. The value decides which form applies, so that a mistake is reported for that form only.
 * @param forms every valid form, for the JSON Schema
 * @param pick the form to check a value as
 */
export function choice<const Forms extends readonly v.GenericSchema[]>(
  forms: Forms,
  pick: (value: unknown) => Forms[number],
): v.UnionSchema<Forms, undefined> {
  const picked = v.lazy(pick);
  return { ...v.union(forms), '~run': (dataset, config) => picked['~run'](dataset, config) };
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
