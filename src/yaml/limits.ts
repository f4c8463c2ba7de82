/**
 * What one run reads at most. Every refusal names its limit.
 * They keep the time and memory of a hostile file within seconds and a few hundred megabytes.
 */
export const LIMITS = {
  /** Characters (UTF-16 units) in one source. */
  sourceLength: 4 * 1024 * 1024,
  /** YAML tokens (words, marks, line ends) in one source. */
  tokens: 1_000_000,
  /** The same, in one document. */
  tokensPerDocument: 250_000,
  /** Documents in a run, over all sources. */
  documents: 10_000,
  /** Collections within collections. */
  depth: 32,
  /** Values in one document, each alias counted as the values that it stands for. */
  values: 100_000,
  /** The same, over all documents of a run. */
  valuesPerRun: 1_000_000,
  /** Unknown escapes in the double quotes of one document, after which it is not read any further. */
  badEscapes: 100,
  /** Problems shown for a run. */
  problems: 1_000,
} as const;
