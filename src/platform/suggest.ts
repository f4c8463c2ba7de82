import { closestMatch } from 'leven';

/**
 * The candidate that a mistyped word most likely means (`template_id` for `templateId` or `template`); undefined if none
 * is close.
 */
export function suggest(word: string, candidates: readonly string[]): string | undefined {
  // Two edits, because swapped letters count as two; one in short words, and more in long ones.
  const maxDistance = word.length < 4 ? 1 : Math.max(2, Math.floor(word.length / 4));
  const match = closestMatch(
    word.toLowerCase(),
    candidates.map((candidate) => candidate.toLowerCase()),
    { maxDistance },
  );
  const isMeant = (candidate: string) => candidate.toLowerCase() === match;
  return candidates.find(isMeant) ?? candidates.find((candidate) => word !== '' && candidate.startsWith(`${word}_`));
}
