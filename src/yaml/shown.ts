/** Characters that could steer a terminal, hide, or reorder what stands beside them. */
const HARMFUL = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

const LONGEST_QUOTE = 60;

/** Text that is safe to show on one line: each harmful character becomes one `·`, a tab one space. */
export function shown(text: string): string {
  return text.replaceAll('\t', ' ').replace(HARMFUL, (character) => '·'.repeat(character.length));
}

/** Text between double quotes for a message, safe to show and not too long. */
export function quoted(text: string): string {
  const clipped = text.length > LONGEST_QUOTE ? `${text.slice(0, LONGEST_QUOTE - 1)}…` : text;
  return `"${shown(clipped)}"`;
}
