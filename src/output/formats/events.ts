import type { Sink } from '../../platform/io.ts';
import { createPaint } from '../color.ts';
import type { OutputFormat, StreamEvent } from '../command-result.ts';
import { jsonLine } from './json.ts';
import { tsvLine } from './rows.ts';

/**
 * Creates a function that formats an event as a line of JSON, a YAML document, a line of tab-separated cells, or lines for
 * people, wrapped in a terminal. `json` means `ndjson`, because an endless stream never closes an array.
 */
export async function createEventFormatter(
  format: OutputFormat,
  color: boolean,
  out: Sink,
): Promise<(event: StreamEvent) => string> {
  if (format === 'json' || format === 'ndjson') return jsonLine;
  if (format === 'yaml') {
    const { stringifyYaml } = await import('./yaml.ts');
    return ({ json }) => `---\n${stringifyYaml(json)}`;
  }
  const { layOutText } = await import('../report.ts');
  const paint = await createPaint(color && format === 'table');
  const width = () => (out.isTTY && format === 'table' ? out.columns : Number.POSITIVE_INFINITY);
  return ({ cells, text }) => (format === 'tsv' && cells ? tsvLine(cells) : layOutText(text, width(), paint));
}
