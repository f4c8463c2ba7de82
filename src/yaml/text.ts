import { errorMessage } from '../platform/error-code.ts';

/** Characters that could control a terminal, hide, or reorder the text beside them. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

const MAX_QUOTED_LENGTH = 60;

/** Text that is safe on one line: a tab becomes a space, an unprintable character a `·`. Keeps the length. */
export function printable(text: string): string {
  return text.replaceAll('\t', ' ').replace(UNPRINTABLE, (character) => '·'.repeat(character.length));
}

/** Text in double quotes for a message: printable, and cut off after 60 characters. */
export function quoted(text: string): string {
  const clipped = text.length > MAX_QUOTED_LENGTH ? `${text.slice(0, MAX_QUOTED_LENGTH - 1)}…` : text;
  return `"${printable(clipped)}"`;
}

export const CONTROL = /\p{Cc}/u;
export const TRIMMED_LINE = /^\S(.*\S)?$/;
export const NOT_TRIMMED = 'must not start or end with white space, or contain a line break';
export const HAS_CONTROLS = 'must not contain control characters';

/** Why a text is not a valid identifier; undefined if it is one. Needs no valibot, unlike the schemas. */
export function identifierProblem(text: string): string | undefined {
  if (!TRIMMED_LINE.test(text)) return NOT_TRIMMED;
  return CONTROL.test(text) ? HAS_CONTROLS : undefined;
}

/** Parses JSON. @returns why it is not JSON, if it is not, without a part of the text */
export function parseJsonText(text: string): { readonly value: unknown } | { readonly message: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { message: `invalid JSON: ${errorMessage(error).replace(/, .*is not valid JSON$/s, '')}` };
  }
}
