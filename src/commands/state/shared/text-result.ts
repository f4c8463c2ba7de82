import { type ObjectResult, objectResult } from '../../../output/command-result.ts';
import { sanitizeLine } from '../../../output/sanitize.ts';

/** An object that people see as lines. */
export function textResult(json: unknown, lines: readonly string[]): ObjectResult {
  return { ...objectResult(json, []), text: lines.map((line) => `${sanitizeLine(line)}\n`).join('') };
}
