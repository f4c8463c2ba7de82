import { cellText } from '../cells.ts';
import { createPaint, type Paint } from '../color.ts';
import type { StreamEvent, TonedText } from '../command-result.ts';
import { stringifyJson } from './stringify-json.ts';

function lines(toned: TonedText, paint: Paint): string {
  const text = typeof toned === 'string' ? toned : toned.map((part) => paint(part.text, part.tone)).join('');
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

/**
 * How an event of a stream is written: a line of JSON (for `json` as for `ndjson`, because a stream never closes its
 * array), a YAML document of its own, a line of tab-separated cells, or the lines for people, in colour if wanted.
 */
export async function eventWriter(
  format: 'table' | 'json' | 'ndjson' | 'yaml' | 'tsv',
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
      return ({ cells, text }) => (cells ? `${cells.map((cell) => cellText(cell)).join('\t')}\n` : lines(text, plain));
    }
    case 'table': {
      const paint = await createPaint(color);
      return ({ text }) => lines(text, paint);
    }
  }
}
