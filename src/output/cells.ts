import type { Cell, ResultCell, Tone } from './command-result.ts';
import { sanitizeLine } from './sanitize.ts';

/** The sanitized texts of a row, with their tones. */
export interface TextRow {
  readonly texts: readonly string[];
  readonly tones: readonly (Tone | undefined)[];
  /** Whether each text must stay unshortened. */
  readonly noTruncate: readonly boolean[];
}

/** Formats a cell as one line of redacted, sanitized text; '' if absent. Never shortens it, so `redact` sees the whole text. */
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
