import { sanitizeLine } from '../output/sanitize.ts';
import type { Offer } from './completion.ts';

/** The shells, and their scripts in completions/. */
export const SHELL_SCRIPTS = {
  bash: 'partnerctl.bash',
  zsh: '_partnerctl',
  fish: 'partnerctl.fish',
  powershell: 'partnerctl.ps1',
} as const;

type Quote = '' | '"' | "'";

interface Typed {
  readonly before: readonly string[];
  /** The word at the cursor, up to it. */
  readonly current: string;
  /** How much of its start the shell keeps. */
  readonly keptLength: number;
  /** The quote that is open at the cursor, if the shell inserts what it gets unchanged. */
  readonly quote?: Quote;
}

/** A part of a word, or what separates words. `inSingle` and `inDouble` match where the quote is open. */
const BASH_PART =
  /'(?<single>[^']*)(?:'|(?<inSingle>$))|"(?<double>(?:\\.|[^"\\])*)(?:"|(?<inDouble>\\?$))|\\(?<escaped>.)|(?<plain>[^\s'"\\]+)|(?<blank>\s+)/gs;

/** Reads a line of bash up to the cursor. Expands nothing. */
function readBashLine(line: string): Typed {
  const words = [''];
  let quote: Quote = '';
  let quotedFrom = 0;
  for (const { groups = {} } of line.trimStart().matchAll(BASH_PART)) {
    const { single, inSingle, double, inDouble, escaped, plain, blank } = groups;
    if (blank !== undefined) {
      words.push('');
      continue;
    }
    const word = words.pop() ?? '';
    words.push(word + (single ?? double?.replace(/\\([\\"$`])/g, '$1') ?? escaped ?? plain ?? ''));
    quote = inSingle !== undefined ? "'" : inDouble !== undefined ? '"' : '';
    quotedFrom = word.length;
  }
  const current = words.pop() ?? '';
  const program = words.findIndex((word) => !/^\w+=/.test(word));
  // It replaces what follows an open quote, else the last word break.
  const keptLength = quote === '' ? current.search(/[^:=@]*$/) : quotedFrom;
  return { before: words.slice(program + 1), current, keptLength, quote };
}

const BASH_SPECIAL = { '': /[^\w./:=@%+,\u0080-\uffff-]/g, '"': /[\\"$`]/g } as const;

function quoteForBash(text: string, quote: Quote): string {
  return quote === "'" ? text.replaceAll("'", "'\\''") : text.replace(BASH_SPECIAL[quote], '\\$&');
}

/** Reads what the script of a shell passes to `partnerctl completion <shell> --`. */
export function readTyped(shell: keyof typeof SHELL_SCRIPTS, words: readonly string[]): Typed {
  const [first = ''] = words;
  if (shell === 'bash') return readBashLine(first);
  // Windows PowerShell loses empty arguments and quotes.
  const typed = shell === 'powershell' ? Buffer.from(first, 'base64').toString().split('\0') : words;
  const [current = '', ...before] = typed;
  return { before, current, keptLength: 0 };
}

/** Formats an offer for the script of a shell: its kind, and a line for each word and, after a tab, what it stands for. */
export function formatOffer(offer: Offer, { keptLength, quote }: Typed): string {
  if (offer === 'files') return 'files\n';
  // The words may come from the service.
  const words = offer.filter(({ value }) => sanitizeLine(value) === value);
  const lines = words.map(({ value, description }) => {
    const rest = value.slice(keptLength);
    // bash adds a space behind the only word, which would stand within an open quote.
    const end = words.length === 1 ? (quote ?? '') : '';
    return `${quote === undefined ? rest : quoteForBash(rest, quote)}${end}\t${sanitizeLine(description.slice(0, 80))}\n`;
  });
  return `words\n${lines.join('')}`;
}
