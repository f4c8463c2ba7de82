/** How the names of fields are written. */
export type Case = 'snake' | 'camel' | 'pascal' | 'kebab';

function capitalize(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

/** Writes a name in another case. A name with an underscore in front, such as `_id`, has no other form. */
export function toCase(name: string, wanted: Case): string {
  if (wanted === 'snake' || name.startsWith('_')) return name;
  const words = name.split('_');
  if (wanted === 'kebab') return words.join('-');
  const [first = '', ...more] = words;
  return [wanted === 'pascal' ? capitalize(first) : first, ...more.map(capitalize)].join('');
}
