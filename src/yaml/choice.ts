import * as v from 'valibot';
import type { Shape } from './shape.ts';

/** The schema of a value that has none of the forms of a choice. */
type Refusal = v.NeverSchema<string>;

/**
 * A schema of several forms, of which the look of a value decides the one that was meant; so a mistake is one in that form,
 * not a mistake in all of them.
 * @param forms every form that is valid, as the JSON Schema lists them
 * @param pick the form that a value is checked as
 */
export function choice<const Forms extends readonly Shape[]>(
  forms: Forms,
  pick: (value: unknown) => Forms[number] | Refusal,
): v.UnionSchema<Forms, undefined> & { readonly pick: (value: unknown) => Shape } {
  const picked = v.lazy(pick);
  return { ...v.union(forms), pick, '~run': (dataset, config) => picked['~run'](dataset, config) };
}
