import type { Cell, ResultCell, Tone } from './command-result.ts';
import { sanitizeLine } from './sanitize.ts';

/** A row of sanitized texts, each with its tone. */
export interface TextRow {
  readonly texts: readonly string[];
  readonly tones: readonly (Tone | undefined)[];
  /** Which of them are never shortened. */
  readonly noTruncate: readonly boolean[];
}

/** A cell as sanitized text on one line; empty if absent. `redact` sees the text before it is shortened. */
export function cellText(cell: Cell, redact: (text: string) => string = (text) => text): string {
  return cell === null || cell === undefined ? '' : sanitizeLine(redact(String(cell)));
}

export function toTextRow(cells: readonly ResultCell[], redact?: (text: string) => string): TextRow {
  return {
    texts: cells.map(({ value }) => cellText(value, redact)),
    tones: cells.map(({ tone }) => tone),
    noTruncate: cells.map(({ noTruncate }) => noTruncate),
  };
}
