import { errorMessage } from '../platform/error-code.ts';

/** Parses JSON. @returns why it is not JSON, if it is not, without a part of the text */
export function parseJsonText(text: string): { readonly value: unknown } | { readonly message: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { message: `invalid JSON: ${errorMessage(error).replace(/, .*is not valid JSON$/s, '')}` };
  }
}
