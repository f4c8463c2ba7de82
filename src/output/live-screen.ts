import type { Sink } from '../platform/io.ts';
import type { Screen } from './command-result.ts';
import { sanitizeText } from './sanitize.ts';
import { formatTable, type LayoutOptions } from './table.ts';
import { countScreenLines, wrapText } from './wrap.ts';

const CLEAR_DOWN = '\x1b[0J';
/** The line of the cursor, and one of what was there before. */
const FREE_LINES = 2;

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
    await out.write(`${height === 0 ? '' : `\x1b[${height}A\r${CLEAR_DOWN}`}${text}`);
    drawn = text;
  }
}
