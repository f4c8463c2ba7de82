import type { Sink } from '../../platform/io.ts';
import { createPaint, type Paint } from '../color.ts';
import type { ListResult, ReportLine, Style } from '../command-result.ts';
import { cellText } from '../sanitize.ts';
import { displayWidth, wrapToWidth } from '../width.ts';
import { consume } from './sequence.ts';

interface ReportOptions {
  readonly color: boolean;
  /** Redacts the text before it is wrapped, because a line break could cut a secret in half. */
  readonly redact?: ((text: string) => string) | undefined;
}

/** The minimum width of text, however deep it is indented. */
const MIN_TEXT_WIDTH = 20;

interface Part {
  readonly text: string;
  readonly tone: Style | undefined;
}

/** Splits the parts of a text at its line breaks. @param lines the joined text, wrapped */
function splitParts(parts: readonly Part[], lines: readonly string[]): Part[][] {
  const rest = [...parts];
  return lines.map((line) => {
    const cut: Part[] = [];
    let missing = line.length;
    while (missing > 0) {
      const part = rest.shift();
      if (!part) break;
      const text = part.text.slice(0, missing);
      if (text.length < part.text.length) rest.unshift({ ...part, text: part.text.slice(text.length) });
      missing -= text.length;
      cut.push({ ...part, text });
    }
    return cut;
  });
}

/** Removes the spaces at which a line was broken. @param isContinued whether it continues another line */
function trimParts(parts: readonly Part[], isContinued: boolean): Part[] {
  const last = parts.length - 1;
  return parts.map((part, index) => {
    const text = isContinued && index === 0 ? part.text.trimStart() : part.text;
    return { ...part, text: index === last ? text.trimEnd() : text };
  });
}

function layOutLine(
  { indent, marker, text, tone }: ReportLine,
  width: number,
  paint: Paint,
  redact: ReportOptions['redact'],
): string[] {
  const given = typeof text === 'string' ? [{ text, tone: undefined }] : text;
  const parts = given.map((part) => ({ text: cellText(part.text, redact), tone: part.tone ?? tone }));
  const margin = ' '.repeat(indent);
  const label = marker === undefined ? '' : `${marker} `;
  const hanging = ' '.repeat(indent + displayWidth(label));
  const available = Math.max(MIN_TEXT_WIDTH, width - hanging.length);
  const lines = splitParts(parts, wrapToWidth(parts.map((part) => part.text).join(''), available));
  return lines.map((line, index) => {
    const painted = trimParts(line, index > 0)
      .map((part) => paint(part.text, part.tone))
      .join('');
    return `${index === 0 ? margin + paint(label, tone) : hanging}${painted}`;
  });
}

/** Reads all rows of a list, then writes its report, wrapped in a terminal. @returns whether it wrote anything */
export async function writeReport(
  { rows, report }: Pick<ListResult, 'rows' | 'report'>,
  out: Sink,
  { color, redact }: ReportOptions,
): Promise<boolean> {
  await consume(rows);
  const paint = await createPaint(color);
  const width = out.isTTY ? out.columns : Number.POSITIVE_INFINITY;
  const lines = report?.().flatMap((line) => layOutLine(line, width, paint, redact)) ?? [];
  if (lines.length > 0) await out.write(`${lines.join('\n')}\n`);
  return lines.length > 0;
}
