import type { StreamEvent } from '../../answer.ts';
import { cellText } from '../cells.ts';
import { jsonText } from './json-text.ts';

function lines(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

/**
 * How an event of a stream is written: a line of JSON (for `json` as for `ndjson`, because a stream never closes its
 * array), a YAML document of its own, a line of tab-separated cells, or the lines for people.
 */
export async function eventWriter(
  format: 'table' | 'json' | 'ndjson' | 'yaml' | 'tsv',
): Promise<(event: StreamEvent) => string> {
  switch (format) {
    case 'json':
    case 'ndjson':
      return ({ json }) => `${jsonText(json)}\n`;
    case 'yaml': {
      const { yamlText } = await import('./yaml.ts');
      return ({ json }) => `---\n${yamlText(json)}`;
    }
    case 'tsv':
      return ({ cells, text }) => (cells ? `${cells.map((cell) => cellText(cell)).join('\t')}\n` : lines(text));
    case 'table':
      return ({ text }) => lines(text);
  }
}
