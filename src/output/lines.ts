import { layoutWidth, type Sink } from '../platform/io.ts';
import { Paged } from '../platform/paged.ts';
import { createPaint } from './color.ts';
import type { Cell, ListResult, ObjectResult, OutputFormat, Row, StreamEvent } from './command-result.ts';
import { stringifyJson } from './json.ts';
import { cellText } from './sanitize.ts';

/** Formats an item as one line of JSON. */
export function jsonLine({ json }: { readonly json: unknown }): string {
  return `${stringifyJson(json)}\n`;
}

function tsvLine(cells: readonly Cell[]): string {
  return `${cells.map((cell) => cellText(cell)).join('\t')}\n`;
}

/** Formats an item as one line of its cells, separated by tabs. */
export function tsvRow({ cells }: Row | ObjectResult): string {
  return tsvLine(cells.map(({ value }) => value));
}

/** Writes the line of an object, or of each row as it arrives; those of a page in one write. */
export async function writeLines(
  result: ListResult | ObjectResult,
  encode: (item: Row | ObjectResult) => string,
  out: Sink,
): Promise<void> {
  if (result.kind === 'object') return out.write(encode(result));
  for await (const page of Paged.of(result.rows).pages) {
    if (page.length > 0) await out.write(page.map(encode).join(''));
  }
}

/** Formats an event for people: wrapped to the width. */
async function textFormatter(color: boolean, width: () => number): Promise<FormatEvent> {
  const { wrapText, WORD } = await import('./wrap.ts');
  const paint = await createPaint(color);
  return ({ text: parts }) => {
    const text = typeof parts === 'string' ? parts : parts.map((part) => paint(part.text, part.tone)).join('');
    if (text === '') return '';
    return `${wrapText(text.replace(/\n$/, ''), width(), '  ', WORD).replaceAll(/^ +$/gm, '')}\n`;
  };
}

type FormatEvent = (event: StreamEvent) => string;

/** Creates the function that formats an event. `json` means `ndjson`, because an endless stream never closes an array. */
export const EVENT_FORMATTERS: Readonly<Record<OutputFormat, (color: boolean, out: Sink) => Promise<FormatEvent>>> = {
  table: (color, out) => textFormatter(color, () => layoutWidth(out)),
  json: async () => jsonLine,
  ndjson: async () => jsonLine,
  async yaml() {
    const { stringifyYaml } = await import('./yaml.ts');
    return ({ json }) => `---\n${stringifyYaml(json)}`;
  },
  async tsv() {
    const formatText = await textFormatter(false, () => Number.POSITIVE_INFINITY);
    return (event) => (event.cells ? tsvLine(event.cells) : formatText(event));
  },
};
