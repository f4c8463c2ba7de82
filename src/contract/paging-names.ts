/** How a name is spelled. A parameter is tried in the spelling of its sign. */
export type Spelling = 'snake' | 'camel' | 'pascal' | 'kebab' | 'joined';

/** The words of names of paging information. */
const PAGING_WORDS: ReadonlySet<string> = new Set(
  [
    'next more cursor cursors token marker continuation continue continues offset page pages paging pagination total',
    'totals count num number no nr last done start skip has have is are result results item items record records row',
    'rows entry entries element elements data object objects list docs hits matches size per limit url uri link links',
    'href path key id ids after since end final first index idx complete completed finished exhausted truncated',
    'incomplete partial remaining left of in max current cur exists available found returned value values response resume',
    'resumption scroll bookmark evaluated exclusive query rel at from top take to seek position pos full overall all pager',
    'prev previous before self self info meta starting ending wp ms transfer exceeded older newer',
    'space spaces workspace workspaces agent agents cron job jobs partner message messages history',
  ].flatMap((line) => line.split(' ')),
);

const MAX_SEGMENTED = 40;

/** Splits a name such as `nextpagetoken` if it consists of paging words only. */
function segment(text: string): readonly string[] | undefined {
  if (text === '') return [];
  for (let length = text.length; length > 1; length -= 1) {
    const word = text.slice(0, length);
    const rest = PAGING_WORDS.has(word) ? segment(text.slice(length)) : undefined;
    if (rest) return [word, ...rest];
  }
  return undefined;
}

function splitName(name: string): readonly string[] {
  return name
    .slice(0, 200)
    .replace(/^@?odata\./i, '')
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((part) => part !== '')
    .flatMap((part) => (part.length > MAX_SEGMENTED || PAGING_WORDS.has(part) ? [part] : (segment(part) ?? [part])));
}

/** How many names are remembered: those of headers and fields are the same on each page. */
const MAX_REMEMBERED = 1_000;

function remember(split: (name: string) => readonly string[]): (name: string) => readonly string[] {
  const known = new Map<string, readonly string[]>();
  return (name) => {
    const words = known.get(name) ?? split(name);
    if (known.size === MAX_REMEMBERED) known.clear();
    known.set(name, words);
    return words;
  };
}

/** Returns the words of a name in lower case: `nextPageToken`, `NextPageToken`, `@odata.next-page-token`. */
export const toWords = remember(splitName);

/** Whether all words of a name are paging words. */
export function isPagingName(words: readonly string[]): boolean {
  return words.length > 0 && words.every((word) => PAGING_WORDS.has(word));
}

/** Returns how a name is spelled; a single lower-case word counts as snake case. */
export function spellingOf(name: string): Spelling {
  if (name.includes('_')) return 'snake';
  if (name.includes('-')) return 'kebab';
  if (/^[A-Z]/.test(name)) return 'pascal';
  if (/[A-Z]/.test(name)) return 'camel';
  return toWords(name).length > 1 ? 'joined' : 'snake';
}

/** Joins words into a name. */
export function spell(words: readonly string[], spelling: Spelling): string {
  const capitalize = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
  if (spelling === 'snake') return words.join('_');
  if (spelling === 'kebab') return words.join('-');
  if (spelling === 'joined') return words.join('');
  if (spelling === 'pascal') return words.map(capitalize).join('');
  return words.map((word, index) => (index === 0 ? word : capitalize(word))).join('');
}
