import type { Cell, ResultCell, Tone } from './command-result.ts';
import { sanitizeLine } from './sanitize.ts';

/** A row of cleaned texts, each with its tone. */
export interface TextRow {
  readonly texts: readonly string[];
  readonly tones: readonly (Tone | undefined)[];
  /** Which of them are never cut. */
  readonly noTruncate: readonly boolean[];
}

/** A cell as text on one line; what is absent is empty. `redact` sees the text before it is cut or wrapped. */
export function cellText(cell: Cell, redact: (text: string) => string = (text) => text): string {
  return cell === null || cell === undefined ? '' : sanitizeLine(redact(String(cell)));
}

/** A row's cells as text. */
export function toTextRow(cells: readonly ResultCell[], redact?: (text: string) => string): TextRow {
  return {
    texts: cells.map(({ value }) => cellText(value, redact)),
    tones: cells.map(({ tone }) => tone),
    noTruncate: cells.map(({ noTruncate }) => noTruncate),
  };
}
