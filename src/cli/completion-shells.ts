import type { Offer } from './completion.ts';

/** The shells, and their scripts in completions/. */
export const SHELL_SCRIPTS = {
  bash: 'partnerctl.bash',
  zsh: '_partnerctl',
  fish: 'partnerctl.fish',
  powershell: 'partnerctl.ps1',
} as const;

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
export function readTyped(shell: keyof typeof SHELL_SCRIPTS, words: readonly string[]): Typed {
  const [first = ''] = words;
  if (shell === 'bash') return readBashLine(first);
  // Windows PowerShell loses empty arguments and quotes.
  const typed = shell === 'powershell' ? Buffer.from(first, 'base64').toString().split('\0') : words;
  const [current = '', ...before] = typed;
  return { before, current, keptLength: 0 };
}

/** Control characters and separators of lines, which a line for a shell must not contain. */
const CONTROL = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/;

/** Formats an offer for the script of a shell: its kind, and a line for each word and, after a tab, what it stands for. */
export function formatOffer(offer: Offer, { keptLength }: Typed): string {
  if (offer === 'files') return 'files\n';
  // The words may come from the service.
  const words = offer.filter(({ value }) => !CONTROL.test(value));
  const lines = words.map(({ value, description }) => {
    const [about = ''] = description.slice(0, 80).split(CONTROL);
    return `${value.slice(keptLength)}\t${about}\n`;
  });
  return `words\n${lines.join('')}`;
}
