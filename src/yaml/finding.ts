import { LIMITS } from './limits.ts';

/** A stretch of a source's text, in UTF-16 units. */
export interface Span {
  readonly offset: number;
  readonly length: number;
}

/** Something wrong at a place of a source. */
export interface Finding extends Span {
  readonly message: string;
  readonly hint?: string | undefined;
}

/** Gathers findings, each one once, and no more than a run would show. */
export class Findings {
  readonly all: Finding[] = [];
  readonly #seen = new Set<string>();

  add(span: Span, message: string, hint?: string): void {
    if (this.all.length > LIMITS.problems) return;
    const key = `${span.offset} ${message}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    this.all.push({ offset: span.offset, length: span.length, message, hint });
  }
}
