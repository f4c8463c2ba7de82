import { parse } from 'yaml';
import { check } from '../shapes.ts';
import { type SettledScript, scriptSchema } from './script.ts';

/**
 * Reads a script of agent behaviour from YAML, or JSON, which is YAML too.
 * @throws Error that says what is wrong with the text, and where.
 */
export function parseScript(text: string): SettledScript {
  const value: unknown = parse(text);
  const result = check(scriptSchema, value);
  if (result.ok) return result.value;
  const problems = result.fields.map(({ path, message }) => `${path} ${message}`.trim());
  throw new Error(`The script is not valid: ${problems.join('; ')}.`);
}
