import type { Sink } from '../../platform/io.ts';
import { createPaint, type Paint } from '../color.ts';
import type { OutputFormat, StreamEvent, TonedText } from '../command-result.ts';
import { cellText } from '../sanitize.ts';
import { stringifyJson } from './stringify-json.ts';

/** Finds the end of a part that begins at `start` in a text whose white space may differ. */
function endOfPart(part: string, text: string, start: number): number {
  if (text.startsWith(part, start)) return start + part.length;
  let left = part.replaceAll(/\s/g, '').length;
  let end = start;
  while (left > 0 && end < text.length) {
    if (!/\s/.test(text.charAt(end))) left -= 1;
    end += 1;
  }
  return end;
}

/** Paints the parts of a text. @param wrap applied to the joined text; may change only white space */
function paintLines(parts: TonedText, paint: Paint, wrap = (text: string) => text): string {
  const list = typeof parts === 'string' ? [{ text: parts, tone: undefined }] : parts;
  const text = wrap(list.map((part) => part.text).join(''));
  let painted = '';
  let done = 0;
  for (const part of list) {
    const end = endOfPart(part.text, text, done);
    // Leave leading white space unpainted: it is the line's indentation.
    const space = /^\s*/.exec(text.slice(done, end))?.[0].length ?? 0;
    painted += text.slice(done, done + space) + paint(text.slice(done + space, end), part.tone);
    done = end;
  }
  painted += text.slice(done);
  return painted === '' || painted.endsWith('\n') ? painted : `${painted}\n`;
}

/**
 * Creates a function that formats an event as a line of JSON, a YAML document, a line of tab-separated cells, or lines for
 * people, wrapped in a terminal. `json` means `ndjson`, because an endless stream never closes an array.
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
      const { stringifyYaml } = await import('./yaml.ts');
      return ({ json }) => `---\n${stringifyYaml(json)}`;
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
      return ({ text }) => paintLines(text, paint, (joined) => wrapText(joined, out.columns, '  '));
    }
  }
}
