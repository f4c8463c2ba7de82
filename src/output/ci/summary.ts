import type { ReportLine, SummarySection } from '../command-result.ts';
import { sanitizeLine } from '../sanitize.ts';

/** What a run did. All texts are raw. */
export interface RunSummary {
  /** The command: `partnerctl plan`. */
  readonly title: string;
  /** How much of what: `2 created, 1 failed.` */
  readonly counts: string;
  /** What ended the command. */
  readonly failure: string | undefined;
  readonly wasInterrupted: boolean;
  readonly sections: readonly SummarySection[];
}

const MAX_LINES = 200;
const MAX_LINE = 1_000;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

type ToHtml = (text: string) => string;

/** Creates a function that turns raw text into one line of HTML that shows it as it is. */
function createToHtml(redact: (text: string) => string): ToHtml {
  return (text) => {
    const line = sanitizeLine(redact(text));
    const clipped = line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line;
    return clipped.toWellFormed().replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
  };
}

function plainText({ text }: ReportLine): string {
  return typeof text === 'string' ? text : text.map((part) => part.text).join('');
}

function reportLine(line: ReportLine, toHtml: ToHtml): string {
  const marker = line.marker === undefined ? '' : `${line.marker} `;
  return toHtml(`${' '.repeat(Math.max(0, line.indent - 4))}${marker}${plainText(line)}`);
}

/** In `<pre>` and `<code>`, GitHub and GitLab read no mentions into the text. A blank line would end the block. */
function block(summary: string, lines: readonly string[]): string {
  const shown = lines.slice(0, MAX_LINES);
  if (lines.length > shown.length) shown.push(`… and ${lines.length - shown.length} more lines`);
  return `<details><summary>${summary}</summary>\n<pre>${shown.filter((line) => line.trim() !== '').join('\n')}</pre>\n</details>\n\n`;
}

function sectionBlock({ name, detail, isFailure, lines }: SummarySection, toHtml: ToHtml): string {
  const summary = `${isFailure ? '❌ ' : ''}<code>${toHtml(`${name}  ${detail}`)}</code>`;
  return block(
    summary,
    lines.map((line) => reportLine(line, toHtml)),
  );
}

/** The items of which there is nothing more to say, a line each. */
function restBlock(sections: readonly SummarySection[], toHtml: ToHtml): string[] {
  if (sections.length === 0) return [];
  const lines = sections.map(({ name, detail }) => toHtml(`${name}  ${detail}`));
  return [block(`${sections.length} ${sections.length === 1 ? 'other' : 'others'}`, lines)];
}

function bytes(text: string): number {
  return Buffer.byteLength(text);
}

/** As many blocks as fit, and how many do not. */
function takeFitting(blocks: readonly string[], room: number): { readonly text: string; readonly left: number } {
  let [text, used] = ['', 0];
  for (const [index, each] of blocks.entries()) {
    used += bytes(each);
    if (used > room) return { text, left: blocks.length - index };
    text += each;
  }
  return { text, left: 0 };
}

/** What the sentence about blocks that do not fit may take. */
const FOOTER_BYTES = 200;

/**
 * Formats the summary of a run as Markdown: the counts, then a folded block for each item, those that failed first. Text of
 * services and files is shown as it is, never as Markdown or HTML.
 * @param limit of how many bytes; blocks that do not fit are left out and counted
 * @param redact replaces secrets in a text
 */
export function formatSummary(run: RunSummary, limit: number, redact: (text: string) => string): string {
  const toHtml = createToHtml(redact);
  const { title, counts, failure, sections, wasInterrupted } = run;
  const head = `### ${title}\n\n${counts === '' ? '' : `<p>${toHtml(counts)}</p>\n\n`}`;
  const lines = failure?.split('\n').map(toHtml) ?? [];
  const failed = sections.filter(({ isFailure }) => isFailure);
  // Items that failed say why.
  const ending =
    failure === undefined || failed.length > 0
      ? ''
      : block(wasInterrupted ? 'It was interrupted.' : '❌ It failed.', lines);
  const others = sections.filter(({ isFailure, lines: own }) => !isFailure && own.length > 0);
  const rest = sections.filter(({ isFailure, lines: own }) => !isFailure && own.length === 0);
  const blocks = [
    ...[...failed, ...others].map((section) => sectionBlock(section, toHtml)),
    ...restBlock(rest, toHtml),
  ];
  const { text, left } = takeFitting(blocks, limit - bytes(head) - bytes(ending) - FOOTER_BYTES);
  const footer =
    left === 0 ? '' : `<p>${left} of ${blocks.length} blocks are left out: the summary would be too long.</p>\n\n`;
  const whole = head + ending + text + footer;
  return bytes(whole) <= limit ? whole : '';
}
