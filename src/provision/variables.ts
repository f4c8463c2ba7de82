import { UsageError } from '../errors.ts';

function parseVariable(text: string): [string, string] {
  const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  throw new UsageError(`--var takes NAME=value, not ${JSON.stringify(text)}.`);
}

/** Parses the values of --var. @throws UsageError for one without a name, or a name that is given twice */
export function parseVariables(texts: readonly string[]): ReadonlyMap<string, string> {
  const variables = new Map<string, string>();
  for (const [name, value] of texts.map(parseVariable)) {
    if (variables.has(name)) throw new UsageError(`--var ${name} is given twice.`, { hint: 'Give it once.' });
    variables.set(name, value);
  }
  return variables;
}
