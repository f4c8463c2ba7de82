/** Limits of the input, which bound the time and memory that a hostile file can cost. */
export const LIMITS = {
  /** UTF-16 units in one source. */
  sourceLength: 4 * 1024 * 1024,
  /** YAML tokens (words, punctuation, line ends) in one document. */
  tokensPerDocument: 250_000,
  /** Documents in one source. */
  documents: 10_000,
  /** Collections within collections. */
  depth: 32,
  /** Values in one source, each alias counted as the values it stands for. */
  values: 1_000_000,
  /** Problems shown. */
  problems: 1_000,
} as const;

/** Thrown to stop reading a source. */
export class UnreadableSource extends Error {
  readonly offset: number;
  readonly hint: string;

  /** @param offset where the problem is, in UTF-16 units */
  constructor(offset: number, message: string, hint: string) {
    super(message);
    this.offset = offset;
    this.hint = hint;
  }
}
