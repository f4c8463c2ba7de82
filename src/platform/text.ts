import { closestMatch } from 'leven';

/** Quotes an argument for a POSIX shell if it needs quotes. */
export function shellQuote(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}

/** Writes the first letter of a text in upper case. */
export function toSentenceCase(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/**
 * The candidate that a mistyped word most likely means: the only one that begins with it (`template_id` for
 * `template`), else one within a few edits (`template_id` for `templateId`); undefined if none is close.
 */
export function suggest(word: string, candidates: readonly string[]): string | undefined {
  const typed = word.toLowerCase();
  const begins = candidates.filter((candidate) => word.length > 1 && candidate.toLowerCase().startsWith(typed));
  if (begins.length === 1) return begins[0];
  // Two edits, because swapped letters count as two; one in short words, and more in long ones.
  const maxDistance = word.length < 4 ? 1 : Math.max(2, Math.floor(word.length / 4));
  const lower = candidates.map((candidate) => candidate.toLowerCase());
  const match = closestMatch(typed, lower, { maxDistance });
  return match === undefined ? undefined : candidates[lower.indexOf(match)];
}
