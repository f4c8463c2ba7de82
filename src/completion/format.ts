import { type BashLine, quoteForBash } from './bash-line.ts';
import type { Described } from './tree.ts';

/** What a shell offers. */
export type Offer =
  /** Complete words. */
  | { readonly kind: 'values'; readonly values: readonly Described[] }
  /** What the shell itself completes. `prefix` is the part of the word before the path. */
  | { readonly kind: 'files' | 'directories' | 'commands'; readonly prefix: string };

/** Control characters and line separators, which must not be in a line for a shell. */
const CONTROL = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/;
const CONTROLS = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/g;

/** Longer descriptions would make the list hard to read. */
const MAX_DESCRIPTION = 100;

function cleanDescription(description: string): string {
  const line = description.replace(CONTROLS, ' ');
  return line.length <= MAX_DESCRIPTION
    ? line
    : `${line.slice(0, MAX_DESCRIPTION - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/**
 * Removes values that cannot be offered, and duplicates: bash would insert the common prefix of two equal values, including the
 * start of the description.
 */
function cleanValues(values: readonly Described[]): Described[] {
  const usable = values.filter(([value]) => value !== '' && !CONTROL.test(value));
  const unique = new Map(usable.map(([value, description]) => [value, cleanDescription(description)]));
  return [...unique];
}

/**
 * Formats an offer for zsh and fish: the kind in the first line (with the prefix of files), then a line for each value with its
 * description, separated by a tab.
 */
export function formatLines(offer: Offer): string {
  if (offer.kind !== 'values') return `${offer.kind}\t${CONTROL.test(offer.prefix) ? '' : offer.prefix}\n`;
  const lines = cleanValues(offer.values).map(([value, description]) => `${value}\t${description}\n`);
  return `values\n${lines.join('')}`;
}

/** Quotes a text for PowerShell, which also accepts typographic quotes as quotes. */
export function quoteForPowerShell(text: string): string {
  return `'${text.replace(/['\u2018-\u201b]/g, '$&$&')}'`;
}

function needsQuotesInPowerShell(text: string): boolean {
  return !/^[\w:./=+-]+$/.test(text) || /^-+$/.test(text);
}

/** Formats an offer for PowerShell: like `formatLines`, with the text to insert before each value. */
export function formatForPowerShell(offer: Offer): string {
  if (offer.kind !== 'values') return `${offer.kind}\t${offer.prefix.replace(CONTROLS, '')}\n`;
  const lines = cleanValues(offer.values).map(
    ([value, description]) =>
      `${needsQuotesInPowerShell(value) ? quoteForPowerShell(value) : value}\t${value}\t${description || value}\n`,
  );
  return `values\n${lines.join('')}`;
}

/** How bash shows matches. */
export interface BashDisplay {
  readonly columns: number;
  /** COMP_TYPE, which tells how completion was started. */
  readonly type: string;
}

/** The COMP_TYPEs of menu-complete and insert-completions, which insert matches unchanged. */
const INSERTING = ['37', '42'];

/** Whether a value is incomplete, so that bash must not add a space. */
function isIncomplete(value: string): boolean {
  return /[:=/]$/.test(value);
}

/**
 * Formats an offer for bash: the kind in the first line, then one match per line. Bash knows no descriptions, so several matches
 * include theirs: bash lists the matches, but inserts only their common prefix.
 */
export function formatForBash(offer: Offer, line: BashLine, { columns, type }: BashDisplay): string {
  if (offer.kind !== 'values') {
    const { prefix } = offer;
    const kept = line.quote === '' ? prefix.slice(Math.min(line.keptLength, prefix.length)) : '';
    const path = line.current.slice(prefix.length);
    return CONTROL.test(prefix + path) ? 'values\n' : `${offer.kind}\n${path}\n${kept}\n`;
  }
  const matches = cleanValues(offer.values).flatMap(([value, description]) => {
    const text = quoteForBash(value.slice(line.keptLength), line.quote);
    return text === undefined ? [] : [{ text, description, value }];
  });
  const [only] = matches;
  const areIncomplete = matches.length > 0 && matches.every(({ value }) => isIncomplete(value));
  const kind = areIncomplete ? 'nospace' : 'values';
  if (matches.length === 1 && only) return `${kind}\n${only.text}\n`;
  if (INSERTING.includes(type)) return `${kind}\n${matches.map(({ text }) => `${text}\n`).join('')}`;
  const width = Math.max(0, ...matches.map(({ text }) => text.length));
  const room = columns - width - 4;
  const lines = matches.map(({ text, description }) => {
    if (description === '' || room < 10) return `${text}\n`;
    const shortened = description.length <= room ? description : `${description.slice(0, room - 1)}…`;
    return `${text.padEnd(width)}  (${shortened})\n`;
  });
  return `${kind}\n${lines.join('')}`;
}
