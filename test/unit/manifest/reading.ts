import { readManifests } from '../../../src/provision/manifest.ts';

export type Reading = ReturnType<typeof readManifests>;

/** Reads texts as the files a.yaml, b.yaml and so on. */
export function readAll(texts: readonly string[], variables: Readonly<Record<string, string>> = {}): Reading {
  const sources = texts.map((text, index) => ({ name: `${String.fromCharCode(97 + index)}.yaml`, text }));
  return readManifests(sources, (name) => (Object.hasOwn(variables, name) ? variables[name] : undefined));
}

export function read(text: string, variables: Readonly<Record<string, string>> = {}): Reading {
  return readAll([text], variables);
}

/** Problems as `a.yaml:3:5 message`. */
export function said({ problems }: Reading): string[] {
  return problems.map(({ source, line, column, message }) => `${source}:${line}:${column} ${message}`);
}

export const VALID = `external_space_id: acme-001
space:
  name: Acme
agents:
  - template_id: tmpl_support
    name: Support
`;
