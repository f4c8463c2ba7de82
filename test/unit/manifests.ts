import { parseManifests } from '../../src/provision/read-manifests.ts';

export type Reading = ReturnType<typeof parseManifests>;

/** Reads texts as the files a.yaml, b.yaml, and so on. */
export function readAll(texts: readonly string[], variables: Readonly<Record<string, string>> = {}): Reading {
  const sources = texts.map((text, index) => ({ name: `${String.fromCharCode(97 + index)}.yaml`, text }));
  return parseManifests(sources, (name) => (Object.hasOwn(variables, name) ? variables[name] : undefined));
}

export function read(text: string, variables: Readonly<Record<string, string>> = {}): Reading {
  return readAll([text], variables);
}

/** The problems as `a.yaml:3:5 message`. */
export function problemLines({ problems }: Reading): string[] {
  return problems.map(({ source, line, column, message }) => `${source}:${line}:${column} ${message}`);
}

export const VALID = `external_space_id: acme-001
space:
  name: Acme
agents:
  - template_id: tmpl_support
    name: Support
`;

/** The valid manifest with one part replaced. */
export function changed(from: string | RegExp, to: string): string {
  const text = VALID.replace(from, () => to);
  if (text === VALID) throw new Error(`nothing to replace: ${from}`);
  return text;
}
