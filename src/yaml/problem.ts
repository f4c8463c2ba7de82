import { excerpt } from './excerpt.ts';
import type { Finding } from './finding.ts';
import type { SourceText } from './source-text.ts';

/** Something wrong in a source, ready to be shown. */
export interface Problem {
  readonly source: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units. */
  readonly column: number;
  readonly message: string;
  /** What to do about it. */
  readonly hint?: string;
  /** The source line and a caret line under the column, with a line number gutter; safe for a terminal. */
  readonly excerpt: string;
  /** How much of the source is meant, in UTF-16 units, where that is known. */
  readonly length?: number;
}

/** A finding as people see it: with file, line, column and the line itself. */
export function problem(source: SourceText, finding: Finding): Problem {
  return {
    source: source.name,
    ...source.position(finding.offset),
    message: finding.message,
    ...(finding.hint !== undefined && { hint: finding.hint }),
    excerpt: excerpt(source, finding),
    ...(finding.length > 0 && { length: finding.length }),
  };
}
