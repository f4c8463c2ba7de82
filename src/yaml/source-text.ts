import { LineCounter } from 'yaml';

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

export type Limits = Readonly<Record<keyof typeof LIMITS, number>>;

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

/** A YAML text as it was read. */
export interface YamlSource {
  /** As shown to people: `acme.yaml`, `<stdin>`. */
  readonly name: string;
  readonly text: string;
}

/** A source without its byte order mark. */
export interface SourceText extends YamlSource {
  readonly lines: LineCounter;
  /** The number of its first line: 1, unless it is a part of a file. */
  readonly firstLine: number;
}

/** Start and end offsets in a source text, in UTF-16 units. */
export type Range = readonly [start: number, end: number];

const BYTE_ORDER_MARK = '\uFEFF';

/** @param firstLine the number of its first line, if the text is a part of a file */
export function toSourceText({ name, text: raw }: YamlSource, firstLine = 1): SourceText {
  const text = raw.startsWith(BYTE_ORDER_MARK) ? raw.slice(1) : raw;
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines.addNewLine(at + 1);
  return { name, text, lines, firstLine };
}

/** Line and column of an offset, both from 1; the column in UTF-16 units, as editors count. */
export function positionAt({ lines, firstLine }: SourceText, offset: number): { line: number; column: number } {
  const { line, col } = lines.linePos(offset);
  return { line: line + firstLine - 1, column: col };
}
