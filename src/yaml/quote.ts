/** Characters that could control a terminal, hide, or reorder the text beside them. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

const MAX_QUOTED_LENGTH = 60;

/** Text that is safe on one line: a tab becomes a space, an unprintable character a `·`. Keeps the length. */
export function printable(text: string): string {
  return text.replaceAll('\t', ' ').replace(UNPRINTABLE, (character) => '·'.repeat(character.length));
}

/** Text in double quotes for a message: printable, and cut off after 60 characters. */
export function quoted(text: string): string {
  const clipped = text.length > MAX_QUOTED_LENGTH ? `${text.slice(0, MAX_QUOTED_LENGTH - 1)}…` : text;
  return `"${printable(clipped)}"`;
}
