import { sanitizeLine } from '../output/sanitize.ts';
import type { Offer } from './completion.ts';

/** The shells, and their scripts in completions/. */
export const SHELL_SCRIPTS = {
  bash: 'partnerctl.bash',
  zsh: '_partnerctl',
  fish: 'partnerctl.fish',
  powershell: 'partnerctl.ps1',
} as const;

/** Reads a line of bash up to the cursor. Blanks in quotes separate words, too. */
function readBashLine(line: string) {
  const words = line.split(/(?<!\\)\s+/).map((word) => word.replace(/\\(.)/g, '$1'));
  const current = words.pop() ?? '';
  const program = words.findIndex((word) => !/^\w+=/.test(word));
  // It replaces what follows the last word break.
  return { before: words.slice(program + 1), current, keptLength: current.search(/[^:=@]*$/) };
}

/**
 * Reads what the script of a shell passes to `partnerctl completion <shell> --`.
 * @returns `keptLength`: how much of the start of the current word the shell keeps
 */
export function readTyped(shell: keyof typeof SHELL_SCRIPTS, words: readonly string[]) {
  const [first = ''] = words;
  if (shell === 'bash') return readBashLine(first);
  // Windows PowerShell loses empty arguments and quotes.
  const typed = shell === 'powershell' ? Buffer.from(first, 'base64').toString().split('\0') : words;
  const [current = '', ...before] = typed;
  return { before, current, keptLength: 0 };
}

/** Formats an offer for the script of a shell: its kind, and a line for each word and, after a tab, what it stands for. */
export function formatOffer(offer: Offer, { keptLength }: ReturnType<typeof readTyped>): string {
  if (offer === 'files') return 'files\n';
  // The words may come from the service.
  const words = offer.filter(({ value }) => sanitizeLine(value) === value);
  const lines = words.map(({ value, description }) => {
    return `${value.slice(keptLength)}\t${sanitizeLine(description.slice(0, 80))}\n`;
  });
  return `words\n${lines.join('')}`;
}
