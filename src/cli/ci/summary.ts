import type { ReportLine, SummarySection } from '../../output/command-result.ts';
import { sanitizeLine } from '../../output/sanitize.ts';

/** What a run did. All texts are raw. */
export interface RunSummary {
  /** The command: `partnerctl plan`. */
  readonly title: string;
  /** The number of items by status: `2 created, 1 failed.` */
  readonly counts: string;
  /** The error that ended the command, formatted. */
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

/** Creates a function that converts raw text to one line of escaped HTML. */
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

/** GitHub and GitLab do not expand mentions in `<pre>` and `<code>`. A blank line would end the block. */
function block(summary: string, lines: readonly string[]): string {
  const kept = lines.slice(0, MAX_LINES);
  if (lines.length > kept.length) kept.push(`… and ${lines.length - kept.length} more lines`);
  return `<details><summary>${summary}</summary>\n<pre>${kept.filter((line) => line.trim() !== '').join('\n')}</pre>\n</details>\n\n`;
}

function sectionBlock({ name, detail, isFailure, lines }: SummarySection, toHtml: ToHtml): string {
  const summary = `${isFailure ? '❌ ' : ''}<code>${toHtml(`${name}  ${detail}`)}</code>`;
  return block(
    summary,
    lines.map((line) => reportLine(line, toHtml)),
  );
}

/** One block for all items without lines of their own. */
function restBlock(sections: readonly SummarySection[], toHtml: ToHtml): string[] {
  if (sections.length === 0) return [];
  const lines = sections.map(({ name, detail }) => toHtml(`${name}  ${detail}`));
  return [block(`${sections.length} ${sections.length === 1 ? 'other' : 'others'}`, lines)];
}

function bytes(text: string): number {
  return Buffer.byteLength(text);
}

/** Joins as many blocks as fit into `room` bytes, and counts the omitted ones. */
function takeFitting(blocks: readonly string[], room: number): { readonly text: string; readonly omitted: number } {
  let [text, used] = ['', 0];
  for (const [index, each] of blocks.entries()) {
    used += bytes(each);
    if (used > room) return { text, omitted: blocks.length - index };
    text += each;
  }
  return { text, omitted: 0 };
}

/** Reserved for the line that counts the omitted blocks. */
const FOOTER_BYTES = 200;

/**
 * Formats the summary of a run as Markdown: the counts, then a folded block for each item, failed ones first. Escapes text
 * from services and files.
 * @param limit the maximum size in bytes; blocks that do not fit are left out and counted
 * @param redact replaces secrets in a text
 * @returns '' if not even the head fits
 */
export function formatSummary(run: RunSummary, limit: number, redact: (text: string) => string): string {
  const toHtml = createToHtml(redact);
  const { title, counts, failure, sections, wasInterrupted } = run;
  const head = `### ${title}\n\n${counts === '' ? '' : `<p>${toHtml(counts)}</p>\n\n`}`;
  const lines = failure?.split('\n').map(toHtml) ?? [];
  const failed = sections.filter(({ isFailure }) => isFailure);
  // Failed items have the reason in their own blocks.
  const ending =
    failure === undefined || failed.length > 0
      ? ''
      : block(wasInterrupted ? 'It was interrupted.' : '❌ It failed.', lines);
  const detailed = sections.filter((section) => !section.isFailure && section.lines.length > 0);
  const rest = sections.filter((section) => !section.isFailure && section.lines.length === 0);
  const blocks = [
    ...[...failed, ...detailed].map((section) => sectionBlock(section, toHtml)),
    ...restBlock(rest, toHtml),
  ];
  const { text, omitted } = takeFitting(blocks, limit - bytes(head) - bytes(ending) - FOOTER_BYTES);
  const footer =
    omitted === 0
      ? ''
      : `<p>${omitted} of ${blocks.length} blocks are left out: the summary would be too long.</p>\n\n`;
  const summary = head + ending + text + footer;
  return bytes(summary) <= limit ? summary : '';
}
