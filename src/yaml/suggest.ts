const LONGEST = 64;

/** How many letters must be changed, added, left out or swapped with their neighbour to get from one word to the other. */
function distance(from: string, to: string): number {
  let previous: number[] = [];
  let current = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row += 1) {
    const next = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      next.push(
        Math.min(
          (current[column] ?? 0) + 1,
          (next[column - 1] ?? 0) + 1,
          (current[column - 1] ?? 0) + (same ? 0 : 1),
          swapped ? (previous[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    previous = current;
    current = next;
  }
  return current[to.length] ?? 0;
}

function plain(word: string): string {
  return word.toLowerCase().replace(/[-_\s]/g, '');
}

/** The candidate that a mistyped word most likely means: `templateId` is `template_id`, `nmae` is `name`. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  if (word.length > LONGEST) return undefined;
  const ranked = candidates
    .map((candidate) => ({ candidate, far: distance(plain(word), plain(candidate)) }))
    .filter(({ candidate, far }) => far <= Math.max(1, Math.floor(candidate.length / 4)))
    .sort((one, other) => one.far - other.far);
  return ranked[0]?.candidate;
}
