import type { CommandLine } from './parse-line.ts';

/** A bash command line, read up to the cursor. */
export interface BashLine extends CommandLine {
  /** The length of the current word's start that bash keeps: it replaces only what follows a quote or the last word break. */
  readonly keptLength: number;
  /** The quote that is open at the cursor, or ''. */
  readonly quote: string;
  /** Whether the current word is the target of a redirection. */
  readonly isRedirected: boolean;
}

interface Word {
  readonly text: string;
  readonly keptLength: number;
  /** The quote that is still open at its end, or ''. */
  readonly quote: string;
  readonly isRedirected: boolean;
}

/** Matches quoted text (perhaps without its closing quote), an escaped character, blanks, a redirection, or a character. */
const UNIT =
  /'(?<single>[^']*)(?<singleEnd>'?)|"(?<double>(?:[^"\\]|\\[\s\S])*\\?)(?<doubleEnd>"?)|\\(?<escaped>[\s\S])|(?<blank>\s+)|\d*(?<redirection>[<>])|(?<plain>[\s\S])/g;

/** Adds a part of a word that is neither a blank nor a redirection. */
function extend(word: Word, unit: Readonly<Record<string, string | undefined>>, wordBreaks: string): Word {
  const { single, singleEnd, double, doubleEnd, escaped, plain = '' } = unit;
  const { text } = word;
  if (single !== undefined) {
    return { ...word, text: text + single, keptLength: text.length, quote: singleEnd === '' ? "'" : '' };
  }
  if (double !== undefined) {
    // Between double quotes, a backslash escapes only these.
    const unescaped = double.replace(/\\([$`"\\])/g, '$1');
    return { ...word, text: text + unescaped, keptLength: text.length, quote: doubleEnd === '' ? '"' : '' };
  }
  if (escaped !== undefined) return { ...word, text: text + escaped };
  const isBreak = wordBreaks.includes(plain);
  return { ...word, text: text + plain, ...(isBreak && { keptLength: text.length + plain.length }) };
}

/** Splits a line into words as bash does. The last word is the current one, and may be empty. */
function splitWords(line: string, wordBreaks: string): Word[] {
  const newWord = (isRedirected: boolean): Word => ({ text: '', keptLength: 0, quote: '', isRedirected });
  const words: Word[] = [];
  let word: Word | undefined;
  let isRedirected = false;
  for (const { groups = {} } of line.matchAll(UNIT)) {
    const { blank, redirection } = groups;
    if (blank === undefined && redirection === undefined) {
      word = extend(word ?? newWord(isRedirected), groups, wordBreaks);
      continue;
    }
    if (word) {
      words.push(word);
      isRedirected = false;
    }
    word = undefined;
    if (redirection !== undefined) isRedirected = true;
  }
  return [...words, word ?? newWord(isRedirected)];
}

/**
 * Parses a bash command line. Pure.
 * @param line the line up to the cursor, including the program
 * @param rest the line after the cursor
 * @param wordBreaks the value of COMP_WORDBREAKS
 */
export function readBashLine(line: string, rest: string, wordBreaks: string): BashLine {
  const words = splitWords(line, wordBreaks);
  const [current] = words.splice(-1);
  const typed = words.filter(({ isRedirected }) => !isRedirected).map(({ text }) => text);
  const program = typed.findIndex((text) => !/^\w+=/.test(text));
  const after = splitWords(`_${rest}`, wordBreaks).map(({ text }) => text);
  return {
    before: typed.slice(program + 1),
    current: current?.text ?? '',
    // The first word is the end of the word at the cursor.
    after: after.slice(1),
    keptLength: current?.keptLength ?? 0,
    quote: current?.quote ?? '',
    isRedirected: current?.isRedirected ?? false,
  };
}

/**
 * Quotes text for bash to insert, so that bash expands and runs nothing in it.
 * @param quote the quote that is open at the cursor, or ''
 * @returns undefined if that is impossible: between double quotes, nothing prevents the expansion of `!`
 */
export function quoteForBash(text: string, quote: string): string | undefined {
  if (quote === "'") return text.replaceAll("'", "'\\''");
  if (quote === '"') return text.includes('!') ? undefined : text.replace(/[$`"\\]/g, '\\$&');
  return text.replace(/[^\w@%+=:,./\-\u0080-\uffff]/g, '\\$&');
}
