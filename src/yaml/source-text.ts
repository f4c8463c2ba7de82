import { LineCounter } from 'yaml';

/** A YAML text as it was read. */
export interface YamlSource {
  /** As shown to people: `acme.yaml`, `<stdin>`. */
  readonly name: string;
  readonly text: string;
}

/** A source without its byte order mark. */
export interface SourceText extends YamlSource {
  readonly lines: LineCounter;
}

/** Start and end offsets in a source text, in UTF-16 units. */
export type Range = readonly [start: number, end: number];

const BYTE_ORDER_MARK = '\uFEFF';

export function toSourceText({ name, text: raw }: YamlSource): SourceText {
  const text = raw.startsWith(BYTE_ORDER_MARK) ? raw.slice(1) : raw;
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines.addNewLine(at + 1);
  return { name, text, lines };
}

/** Line and column of an offset, both from 1; the column in UTF-16 units, as editors count. */
export function positionAt({ lines }: SourceText, offset: number): { line: number; column: number } {
  const { line, col } = lines.linePos(offset);
  return { line, column: col };
}
