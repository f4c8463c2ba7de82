import type { Sink } from '../platform/io.ts';
import type { Screen } from './command-result.ts';
import { sanitizeText } from './sanitize.ts';
import { formatTable, type LayoutOptions } from './table.ts';
import { countScreenLines, wrapText } from './wrap.ts';

const CLEAR_DOWN = '\x1b[0J';
/** The line of the cursor, and one of what was there before. */
const FREE_LINES = 2;

/** Shortens a text from its end to a number of lines of the screen. */
function cutTo(lines: number, text: string, columns: number): string {
  const kept = text.split('\n').slice(0, -1);
  while (kept.length > 1 && countScreenLines(`${kept.join('\n')}\n`, columns) > lines) kept.pop();
  return `${kept.join('\n')}\n`;
}

/** Draws tables over one another on a terminal. The last one stays. What does not fit is left out from the end. */
export async function writeScreens(
  screens: AsyncIterable<Screen>,
  out: Sink,
  layOut: Pick<LayoutOptions, 'color' | 'redact'> & { readonly isWide: boolean },
): Promise<void> {
  let drawn = '';
  for await (const { list, now } of screens) {
    const { columns } = out;
    const summary = wrapText(sanitizeText(list.summary?.() ?? ''), columns, '  ');
    const below = summary === '' ? '' : `${summary}\n`;
    const free = (out.rows ?? Number.POSITIVE_INFINITY) - FREE_LINES - countScreenLines(below, columns);
    const width = layOut.isWide ? Number.POSITIVE_INFINITY : columns;
    const { text: table } = await formatTable(list, { ...layOut, width, ...(!layOut.isWide && { now }) });
    const text = cutTo(free, table, columns) + below;
    if (text === drawn) continue;
    const lines = countScreenLines(drawn, columns);
    await out.write(`${lines === 0 ? '' : `\x1b[${lines}A\r${CLEAR_DOWN}`}${text}`);
    drawn = text;
  }
}
