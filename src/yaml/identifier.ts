export const CONTROL = /\p{Cc}/u;
export const TRIMMED_LINE = /^\S(.*\S)?$/;
export const NOT_TRIMMED = 'must not start or end with white space, or contain a line break';
export const HAS_CONTROLS = 'must not contain control characters';

/** Why a text is not a valid identifier; undefined if it is one. Needs no valibot, unlike the schemas. */
export function identifierProblem(text: string): string | undefined {
  if (!TRIMMED_LINE.test(text)) return NOT_TRIMMED;
  return CONTROL.test(text) ? HAS_CONTROLS : undefined;
}
