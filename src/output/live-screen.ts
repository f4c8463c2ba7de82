import { stripVTControlCharacters } from 'node:util';
import { type Sink, withWrite } from '../platform/io.ts';
import type { Screen } from './command-result.ts';
import { writeTable } from './formats/table.ts';
import { sanitizeText } from './sanitize.ts';
import { countScreenLines } from './width.ts';
import { wrapText } from './wrap.ts';

interface LiveOptions {
  readonly color: boolean;
  readonly wide?: boolean | undefined;
  readonly redact?: ((text: string) => string) | undefined;
}

const CLEAR_DOWN = '\x1b[0J';
/** The line of the cursor, and one of what was there before. */
const FREE_LINES = 2;

async function format({ list, now }: Screen, out: Sink, options: LiveOptions): Promise<string> {
  let text = '';
  const memory = withWrite(async (part) => {
    text += part;
  }, out);
  await writeTable(list, memory, { ...options, now });
  return text;
}

/** Shortens a text from its end to a number of lines of the screen. */
function cutTo(lines: number, text: string, columns: number): string {
  const kept = text.split('\n').slice(0, -1);
  while (kept.length > 1 && countScreenLines(`${kept.join('\n')}\n`, columns) > lines) kept.pop();
  return `${kept.join('\n')}\n`;
}

/** Draws tables over one another on a terminal. The last one stays. What does not fit is left out from the end. */
export async function writeScreens(screens: AsyncIterable<Screen>, out: Sink, options: LiveOptions): Promise<void> {
  let drawn = '';
  for await (const screen of screens) {
    const summary = wrapText(sanitizeText(screen.list.summary?.() ?? ''), out.columns, '  ');
    const below = summary === '' ? '' : `${summary}\n`;
    const free = (out.rows ?? Number.POSITIVE_INFINITY) - FREE_LINES - countScreenLines(below, out.columns);
    const text = cutTo(free, await format(screen, out, options), out.columns) + below;
    if (text === drawn) continue;
    const lines = countScreenLines(stripVTControlCharacters(drawn), out.columns);
    await out.write(`${lines === 0 ? '' : `\x1b[${lines}A\r${CLEAR_DOWN}`}${text}`);
    drawn = text;
  }
}
