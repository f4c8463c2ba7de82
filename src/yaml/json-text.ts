import { errorMessage } from '../platform/error-code.ts';

/** Whether a text is the beginning of JSON, so that the mistake in it comes later. */
function isBeginning(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    const message = error instanceof Error ? error.message : '';
    const at = /at position (\d+)/.exec(message)?.[1];
    // A name without its colon: "Expected ':' after property name", at the end.
    return /end of JSON|unterminated|end of data/i.test(message) || Number(at) >= text.length;
  }
}

/** Finds the first character that no JSON has there, as some messages of the parser do not say where it is. */
function positionOfMistake(text: string): number {
  let [valid, wrong] = [0, text.length];
  while (wrong - valid > 1) {
    const middle = Math.floor((valid + wrong) / 2);
    if (isBeginning(text.slice(0, middle))) valid = middle;
    else wrong = middle;
  }
  return isBeginning(text) ? text.trimEnd().length : valid;
}

/** Parses JSON. @returns where and why it is not JSON, if it is not, without a part of the text */
export function parseJsonText(
  text: string,
): { readonly value: unknown } | { readonly at: number; readonly message: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    const message = errorMessage(error);
    const at = /at position (\d+)/.exec(message)?.[1];
    const reason = message.replace(/ in JSON at position.*$/s, '').replace(/, .*is not valid JSON$/s, '');
    return { at: at === undefined ? positionOfMistake(text) : Number(at), message: `invalid JSON: ${reason}` };
  }
}
