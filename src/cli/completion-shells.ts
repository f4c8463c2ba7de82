import type { Candidate, Offer } from './completion.ts';

/** The shells, and their scripts in completions/. */
export const SHELL_SCRIPTS = {
  bash: 'partnerctl.bash',
  zsh: '_partnerctl',
  fish: 'partnerctl.fish',
  powershell: 'partnerctl.ps1',
} as const;

type Shell = keyof typeof SHELL_SCRIPTS;

/** The words that are typed before the cursor. */
interface Typed {
  readonly before: readonly string[];
  readonly current: string;
  /** How much of the start of the current word bash keeps: it replaces what follows the last word break. */
  readonly keptLength: number;
}

/** Reads a line of bash up to the cursor. Blanks in quotes separate words, too. */
function readBashLine(line: string): Typed {
  const words = line.split(/(?<!\\)\s+/).map((word) => word.replace(/\\(.)/g, '$1'));
  const current = words.pop() ?? '';
  const program = words.findIndex((word) => !/^\w+=/.test(word));
  return { before: words.slice(program + 1), current, keptLength: current.search(/[^:=@]*$/) };
}

/** Reads what the script of a shell passes to `partnerctl completion <shell> --`. */
export function readTyped(shell: Shell, words: readonly string[]): Typed {
  if (shell === 'bash') return readBashLine(words[1] ?? '');
  // Windows PowerShell loses empty arguments and quotes.
  const decode = (text = '') => Buffer.from(text, 'base64').toString().split('\0');
  const [current = '', ...before] = shell === 'powershell' ? decode(words[0]) : words;
  return { before, current, keptLength: 0 };
}

/** Control characters and separators of lines, which a line for a shell must not contain. */
const CONTROL = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/;

/** Quotes a text for bash to insert, so that bash expands and runs nothing in it. */
function quoteForBash(text: string): string {
  return text.replace(/[^\w@%+=:,./\-\u0080-\uffff]/g, '\\$&');
}

/** The COMP_TYPEs in which bash shows the words, and inserts no more than what all begin with. */
const LISTING = ['63', '33', '64'];

/** Quotes a text for PowerShell, which accepts typographic quotes, too. */
function quoteForPowerShell(text: string): string {
  return /^[\w./:=+-]+$/.test(text) ? text : `'${text.replace(/['\u2018-\u201b]/g, '$&$&')}'`;
}

/**
 * Formats an offer for the script of a shell: a line with its kind, and a line for each word.
 * @param type COMP_TYPE of bash
 */
export function formatOffer(shell: Shell, offer: Offer, { keptLength }: Typed, type: string): string {
  if (offer === 'files') return 'files\n';
  // What words stand for comes from the service.
  const words = offer.filter(({ value }) => value !== '' && !CONTROL.test(value));
  const isListed = words.length > 1 && LISTING.includes(type);
  const formatWord = ({ value, description }: Candidate): string => {
    const [about = ''] = description.slice(0, 80).split(CONTROL);
    if (shell === 'powershell') return `${quoteForPowerShell(value)}\t${value}\t${about || value}`;
    if (shell !== 'bash') return `${value}\t${about}`;
    const text = quoteForBash(value.slice(keptLength));
    return isListed && about !== '' ? `${text}  (${about})` : text;
  };
  return ['words', ...words.map(formatWord)].map((line) => `${line}\n`).join('');
}
