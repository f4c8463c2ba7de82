/** How a space or an agent is named on the command line: by id, or by a field that is looked up in a list. */
export type Reference =
  | { readonly by: 'id'; readonly value: string }
  | { readonly by: 'external_space_id' | 'name'; readonly value: string };

const PREFIXES = { 'ext:': 'external_space_id', 'name:': 'name' } as const;

/** `<space>`: a space_id, `ext:<external_space_id>` or `name:<name>`. */
export function parseReference(text: string): Reference {
  for (const [prefix, by] of Object.entries(PREFIXES)) {
    if (text.startsWith(prefix)) return { by, value: text.slice(prefix.length) };
  }
  return { by: 'id', value: text };
}
