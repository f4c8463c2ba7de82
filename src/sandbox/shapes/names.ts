/** How the names of fields are written. */
export type Case = 'snake' | 'camel' | 'pascal' | 'kebab';

function capitalize(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

/** Converts a name to a case. Leaves names with a leading underscore, such as `_id`, as they are. */
export function toCase(name: string, wanted: Case): string {
  if (wanted === 'snake' || name.startsWith('_')) return name;
  const words = name.split('_');
  if (wanted === 'kebab') return words.join('-');
  const [first = '', ...more] = words;
  return [wanted === 'pascal' ? capitalize(first) : first, ...more.map(capitalize)].join('');
}
