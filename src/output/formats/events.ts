import { createPaint, type Paint } from '../color.ts';
import type { OutputFormat, StreamEvent, TonedText } from '../command-result.ts';
import { stringifyJson } from './stringify-json.ts';
import { cellText } from './tsv.ts';

function paintLines(parts: TonedText, paint: Paint): string {
  const text = typeof parts === 'string' ? parts : parts.map((part) => paint(part.text, part.tone)).join('');
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

/**
 * Creates a function that formats an event as a line of JSON, a YAML document, a line of tab-separated cells, or lines
 * for people. `json` means `ndjson` here, because an endless stream never closes an array.
 */
export async function createEventFormatter(
  format: OutputFormat,
  color: boolean,
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
      return ({ text }) => paintLines(text, paint);
    }
  }
}
