import type { Candidate, Offer } from './completion.ts';

/** The shells that have a script in completions/. */
export type Shell = 'bash' | 'zsh' | 'fish' | 'powershell';

/** The words that are typed before the cursor, without quotes. */
export interface Typed {
  readonly before: readonly string[];
  readonly current: string;
  /** How much of the start of the current word bash keeps: it replaces what follows the last word break or quote. */
  readonly keptLength: number;
  /** The quote that is open at the cursor, or ''. */
  readonly quote: string;
  /** Whether the current word is the file of a redirection. */
  readonly isRedirected: boolean;
}

/** Matches quoted text (perhaps without its closing quote), an escaped character, blanks, or a character. */
const UNIT =
  /'(?<single>[^']*)(?<singleEnd>'?)|"(?<double>(?:[^"\\]|\\[\s\S])*\\?)(?<doubleEnd>"?)|\\(?<escaped>[\s\S])|(?<blank>\s+)|(?<plain>[\s\S])/g;

/** Reads a line of bash up to the cursor, as bash splits it into words. Runs nothing in it. */
function readBashLine(line: string): Typed {
  const words: string[] = [];
  let [current, keptLength, quote]: [string | undefined, number, string] = [undefined, 0, ''];
  for (const { groups = {} } of line.matchAll(UNIT)) {
    const { single, singleEnd, double, doubleEnd, escaped, blank, plain = '' } = groups;
    quote = singleEnd === '' ? "'" : doubleEnd === '' ? '"' : '';
    if (blank !== undefined) {
      if (current !== undefined) words.push(current);
      [current, keptLength] = [undefined, 0];
      continue;
    }
    if (quote !== '') keptLength = current?.length ?? 0;
    current = (current ?? '') + (single ?? double?.replace(/\\([$`"\\])/g, '$1') ?? escaped ?? plain);
    if (/[:=@]/.test(plain)) keptLength = current.length;
  }
  const program = words.findIndex((word) => !/^\w+=/.test(word));
  const isRedirection = (word = ''): boolean => /^\d?[<>]+$/.test(word);
  const before = words.filter((word, index) => index > program && ![word, words[index - 1]].some(isRedirection));
  return { before, current: current ?? '', keptLength, quote, isRedirected: isRedirection(words.at(-1)) };
}

/** Reads what the script of a shell passes to `partnerctl completion <shell> --`. */
export function readTyped(shell: Shell, words: readonly string[]): Typed {
  if (shell === 'bash') return readBashLine(words[1] ?? '');
  // Windows PowerShell loses empty arguments and quotes.
  const decoded =
    shell === 'powershell'
      ? Buffer.from(words[0] ?? '', 'base64')
          .toString()
          .split('\0')
      : words;
  const [current = '', ...before] = decoded;
  return { before, current, keptLength: 0, quote: '', isRedirected: false };
}

/** Control characters and separators of lines, which a line for a shell must not contain. */
const CONTROL = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/;

/** The words that can be offered, each once. What they stand for comes from the service. */
function cleanWords(words: readonly Candidate[]): readonly Candidate[] {
  const usable = words.filter(({ value }) => value !== '' && !CONTROL.test(value));
  const described = usable.map(({ value, description }) => {
    const [line = ''] = description.slice(0, 80).split(CONTROL);
    return [value, { value, description: line }] as const;
  });
  return [...new Map(described).values()];
}

/**
 * Quotes a text for bash to insert, so that bash expands and runs nothing in it.
 * @param quote the quote that is open at the cursor, or ''
 * @returns undefined for a text that an open quote cannot hold
 */
function quoteForBash(text: string, quote: string): string | undefined {
  if (quote === '') return text.replace(/[^\w@%+=:,./\-\u0080-\uffff]/g, '\\$&');
  return /['"\\$`!]/.test(text) ? undefined : text;
}

/** The COMP_TYPEs in which bash shows the words, and inserts no more than what all begin with. */
const LISTING = ['63', '33', '64'];

function bashLines(words: readonly Candidate[], { keptLength, quote }: Typed, type: string): readonly string[] {
  const quoted = words.flatMap(({ value, description }) => {
    const text = quoteForBash(value.slice(keptLength), quote);
    return text === undefined ? [] : [{ text, description }];
  });
  const isListed = quoted.length > 1 && LISTING.includes(type);
  return quoted.map(({ text, description }) => (isListed && description !== '' ? `${text}  (${description})` : text));
}

/** Quotes a text for PowerShell, which accepts typographic quotes, too. */
function quoteForPowerShell(text: string): string {
  return /^[\w./:=+-]+$/.test(text) ? text : `'${text.replace(/['\u2018-\u201b]/g, '$&$&')}'`;
}

/**
 * Formats an offer for the script of a shell: a line with its kind, and a line for each word.
 * @param type COMP_TYPE of bash
 */
export function formatOffer(shell: Shell, offer: Offer, typed: Typed, type: string): string {
  if (offer === 'files') return 'files\n';
  const words = cleanWords(offer);
  const formatWord = ({ value, description }: Candidate): string =>
    shell === 'powershell'
      ? `${quoteForPowerShell(value)}\t${value}\t${description || value}`
      : `${value}\t${description}`;
  const lines = shell === 'bash' ? bashLines(words, typed, type) : words.map(formatWord);
  return ['words', ...lines].map((line) => `${line}\n`).join('');
}
