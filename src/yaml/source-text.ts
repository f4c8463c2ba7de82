export interface YamlSource {
  /** As shown to people: `acme.yaml`, `<stdin>`. */
  readonly name: string;
  readonly text: string;
}

/** Both count from 1; the column counts UTF-16 units, as editors and language servers do. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

const BOM = '\uFEFF';

/** The text of a source without a byte order mark, with its lines known by offset. */
export class SourceText {
  readonly name: string;
  readonly text: string;
  readonly #lineStarts: number[] = [0];

  constructor(source: YamlSource) {
    this.name = source.name;
    this.text = source.text.startsWith(BOM) ? source.text.slice(1) : source.text;
    for (let at = this.text.indexOf('\n'); at !== -1; at = this.text.indexOf('\n', at + 1)) {
      this.#lineStarts.push(at + 1);
    }
  }

  /** @param offset within the text, in UTF-16 units from 0; its end is allowed. */
  position(offset: number): Position {
    let low = 0;
    let high = this.#lineStarts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.#lineStart(middle) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - this.#lineStart(low) + 1 };
  }

  /** Where a line begins and ends, without its line break. @param line from 1. */
  lineSpan(line: number): { start: number; end: number } {
    const start = this.#lineStart(line - 1);
    const next = this.#lineStarts[line];
    if (next === undefined) return { start, end: this.text.length };
    const end = next - 1;
    return { start, end: end > start && this.text[end - 1] === '\r' ? end - 1 : end };
  }

  #lineStart(index: number): number {
    return this.#lineStarts[index] ?? this.text.length;
  }
}
