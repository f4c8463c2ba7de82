import { type BashLine, quoteForBash } from './bash-line.ts';
import type { Described } from './tree.ts';

/** What a shell is to offer. */
export type Offer =
  /** Whole words. */
  | { readonly kind: 'values'; readonly values: readonly Described[] }
  /** What the shell itself completes. `prefix` is the part of the word before the path. */
  | { readonly kind: 'files' | 'directories' | 'commands'; readonly prefix: string };

/** Control characters and line separators, which no line for a shell may hold. */
const CONTROL = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/;
const CONTROLS = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/g;

/** A list of values in a terminal becomes hard to read beyond this length of a description. */
const MAX_DESCRIPTION = 100;

function cleanDescription(description: string): string {
  const line = description.replace(CONTROLS, ' ');
  return line.length <= MAX_DESCRIPTION
    ? line
    : `${line.slice(0, MAX_DESCRIPTION - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** Each value once: bash would take what two equal ones begin with, a part of the description, for a part of the value. */
function cleaned(values: readonly Described[]): Described[] {
  const usable = values.filter(([value]) => value !== '' && !CONTROL.test(value));
  const unique = new Map(usable.map(([value, description]) => [value, cleanDescription(description)]));
  return [...unique];
}

/**
 * Formats an offer for zsh and fish: the kind in the first line (with the prefix of files), then a value and its description
 * a line, separated by a tab.
 */
export function formatLines(offer: Offer): string {
  if (offer.kind !== 'values') return `${offer.kind}\t${CONTROL.test(offer.prefix) ? '' : offer.prefix}\n`;
  const lines = cleaned(offer.values).map(([value, description]) => `${value}\t${description}\n`);
  return `values\n${lines.join('')}`;
}

function quoteForPowerShell(text: string): string {
  if (/^[\w:./=+-]+$/.test(text) && !/^-+$/.test(text)) return text;
  // PowerShell also takes typographic quotes as quotes.
  return `'${text.replace(/['\u2018-\u201b]/g, '$&$&')}'`;
}

/** Formats an offer for PowerShell: like `formatLines`, with the text to insert before the value. */
export function formatForPowerShell(offer: Offer): string {
  if (offer.kind !== 'values') return `${offer.kind}\t${offer.prefix.replace(CONTROLS, '')}\n`;
  const lines = cleaned(offer.values).map(
    ([value, description]) => `${quoteForPowerShell(value)}\t${value}\t${description || value}\n`,
  );
  return `values\n${lines.join('')}`;
}

export interface BashDisplay {
  readonly columns: number;
  /** COMP_TYPE: why bash completes. */
  readonly type: string;
}

/** menu-complete and insert-completions insert each match as it is. */
const INSERTING = ['37', '42'];

/** Whether bash must not add a blank: the value is only the beginning of one. */
function isBeginning(value: string): boolean {
  return /[:=/]$/.test(value);
}

/**
 * Formats an offer for bash: a kind in the first line, then the matches, a line each. Bash has no descriptions, so they are a
 * part of what it lists; it inserts no more than what all matches begin with.
 */
export function formatForBash(offer: Offer, line: BashLine, { columns, type }: BashDisplay): string {
  if (offer.kind !== 'values') {
    const { prefix } = offer;
    const kept = line.quote === '' ? prefix.slice(Math.min(line.keptLength, prefix.length)) : '';
    const path = line.current.slice(prefix.length);
    return CONTROL.test(prefix + path) ? 'values\n' : `${offer.kind}\n${path}\n${kept}\n`;
  }
  const matches = cleaned(offer.values).flatMap(([value, description]) => {
    const text = quoteForBash(value.slice(line.keptLength), line.quote);
    return text === undefined ? [] : [{ text, description, value }];
  });
  const [only] = matches;
  if (matches.length === 1 && only) return `${isBeginning(only.value) ? 'nospace' : 'values'}\n${only.text}\n`;
  const isBegun = matches.length > 0 && matches.every(({ value }) => isBeginning(value));
  const kind = isBegun ? 'nospace' : 'values';
  if (INSERTING.includes(type)) return `${kind}\n${matches.map(({ text }) => `${text}\n`).join('')}`;
  const width = Math.max(0, ...matches.map(({ text }) => text.length));
  const room = columns - width - 4;
  const lines = matches.map(({ text, description }) => {
    if (description === '' || room < 10) return `${text}\n`;
    const shown = description.length <= room ? description : `${description.slice(0, room - 1)}…`;
    return `${text.padEnd(width)}  (${shown})\n`;
  });
  return `${kind}\n${lines.join('')}`;
}
