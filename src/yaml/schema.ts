import * as v from 'valibot';
import { CONTROL, HAS_CONTROLS, NOT_TRIMMED, TRIMMED_LINE } from './identifier.ts';

/**
 * The valibot schemas that documents are checked with: strict objects, lists, optional entries, choices, and plain
 * values.
 */
export interface DocumentSchema extends v.GenericSchema {
  readonly entries?: Readonly<Record<string, DocumentSchema>>;
  readonly item?: DocumentSchema;
  readonly wrapped?: DocumentSchema;
  /** The form of a choice that a value is checked as. */
  readonly pick?: (value: unknown) => DocumentSchema;
}

/**
 * A schema of several forms. The value decides which form applies, so that a mistake is reported for that form only.
 * @param forms every valid form, for the JSON Schema
 * @param pick the form to check a value as; `v.never(message)` where it has none
 */
export function choice<const Forms extends readonly DocumentSchema[]>(
  forms: Forms,
  pick: (value: unknown) => Forms[number] | v.NeverSchema<string>,
): v.UnionSchema<Forms, undefined> & { readonly pick: (value: unknown) => DocumentSchema } {
  const picked = v.lazy(pick);
  return { ...v.union(forms), pick, '~run': (dataset, config) => picked['~run'](dataset, config) };
}

/** Text that identifies something: one line, without control characters or white space around it. */
export function identifier(title: string, description: string) {
  return v.pipe(
    v.string(),
    v.nonEmpty('must not be empty'),
    v.regex(TRIMMED_LINE, NOT_TRIMMED),
    v.check((text) => !CONTROL.test(text), HAS_CONTROLS),
    v.title(title),
    v.description(description),
  );
}

/** Any text that is not blank. */
export function nonBlankText(title: string, description: string) {
  return v.pipe(v.string(), v.regex(/\S/, 'must not be empty'), v.title(title), v.description(description));
}
