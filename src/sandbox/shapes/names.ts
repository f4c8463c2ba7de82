/** The case of field names. */
export type Case = 'snake' | 'camel' | 'pascal' | 'kebab';

function capitalize(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

/** Converts a snake_case name. Names with a leading underscore, such as `_id`, stay as they are. */
export function toCase(name: string, target: Case): string {
  if (target === 'snake' || name.startsWith('_')) return name;
  const words = name.split('_');
  if (target === 'kebab') return words.join('-');
  const [first = '', ...more] = words;
  return [target === 'pascal' ? capitalize(first) : first, ...more.map(capitalize)].join('');
}
