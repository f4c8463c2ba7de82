import { stripVTControlCharacters } from 'node:util';
import stringWidth from 'string-width';
import type { Sink } from '../platform/io.ts';
import type { Screen } from './command-result.ts';
import { sanitizeText } from './sanitize.ts';
import { formatTable, type LayoutOptions } from './table.ts';
import { countScreenLines, wrapText } from './wrap.ts';

const CLEAR_LINE_END = '\x1b[K';
const CLEAR_DOWN = '\x1b[0J';
/** The line of the cursor, and one of what was there before. */
const FREE_LINES = 2;

/** Clears what an earlier table left behind a line. In a full one, the cursor stands on the last character. */
function clearBehind(line: string, columns: number): string {
  const isFull = line !== '' && stringWidth(stripVTControlCharacters(line)) % columns === 0;
  return isFull ? line : `${line}${CLEAR_LINE_END}`;
}

/** Draws tables over one another on a terminal. The last one stays. What does not fit is left out from the end, and counted. */
export async function writeScreens(
  screens: AsyncIterable<Screen>,
  out: Sink,
  layOut: Pick<LayoutOptions, 'color' | 'redact'> & { readonly isWide: boolean },
): Promise<void> {
  let drawn = '';
  for await (const { list, now } of screens) {
    const { columns, rows = Number.POSITIVE_INFINITY } = out;
    const summary = wrapText(sanitizeText(list.summary?.() ?? ''), columns, '  ');
    const below = summary === '' ? '' : `${summary}\n`;
    const size = layOut.isWide ? { width: Number.POSITIVE_INFINITY } : { width: columns, now };
    const { text: table } = await formatTable(list, { ...layOut, ...size });
    const lines = table.split(/(?<=\n)/);
    const shown = [...lines];
    const more = () => (shown.length < lines.length ? `… ${lines.length - shown.length} more lines\n` : '');
    const draw = () => shown.join('') + more() + below;
    while (shown.length > 1 && countScreenLines(draw(), columns) > rows - FREE_LINES) shown.pop();
    const text = draw();
    if (text === drawn) continue;
    const height = countScreenLines(drawn, columns);
    // Some terminals keep a copy of a screen that is cleared from its first line: clear each line, then what is below.
    const over = text
      .split('\n')
      .map((line) => clearBehind(line, columns))
      .join('\n');
    await out.write(height === 0 ? text : `\x1b[${height}A\r${over}${CLEAR_DOWN}`);
    drawn = text;
  }
}
