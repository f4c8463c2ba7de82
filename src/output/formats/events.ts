import type { Sink } from '../../cli/io.ts';
import { createPaint, type Paint } from '../color.ts';
import type { OutputFormat, StreamEvent, TonedText } from '../command-result.ts';
import { stringifyJson } from './stringify-json.ts';
import { cellText } from './tsv.ts';

/**
 * Paints the parts of a text.
 * @param wrap applied to the whole text; the parts after the first that it changes are not painted
 */
function paintLines(parts: TonedText, paint: Paint, wrap = (text: string) => text): string {
  const list = typeof parts === 'string' ? [{ text: parts, tone: undefined }] : parts;
  const text = wrap(list.map((part) => part.text).join(''));
  let painted = '';
  let done = 0;
  for (const part of list) {
    if (!text.startsWith(part.text, done)) break;
    painted += paint(part.text, part.tone);
    done += part.text.length;
  }
  const whole = painted + text.slice(done);
  return whole === '' || whole.endsWith('\n') ? whole : `${whole}\n`;
}

/**
 * Creates a function that formats an event as a line of JSON, a YAML document, a line of tab-separated cells, or lines
 * for people, wrapped in a terminal. `json` means `ndjson` here, because an endless stream never closes an array.
 */
export async function createEventFormatter(
  format: OutputFormat,
  color: boolean,
  out: Sink,
): Promise<(event: StreamEvent) => string> {
  switch (format) {
    case 'json':
    case 'ndjson':
      return ({ json }) => `${stringifyJson(json)}\n`;
    case 'yaml': {
      const { stringifyYaml: yamlText } = await import('./yaml.ts');
      return ({ json }) => `---\n${yamlText(json)}`;
    }
    case 'tsv': {
      const plain = await createPaint(false);
      return ({ cells, text }) =>
        cells ? `${cells.map((cell) => cellText(cell)).join('\t')}\n` : paintLines(text, plain);
    }
    case 'table': {
      const paint = await createPaint(color);
      if (!out.isTTY) return ({ text }) => paintLines(text, paint);
      const { wrapText } = await import('../wrap.ts');
      return ({ text }) => paintLines(text, paint, (whole) => wrapText(whole, out.columns, '  '));
    }
  }
}
