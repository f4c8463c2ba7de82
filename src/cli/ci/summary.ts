import type { CiItem, ReportLine } from '../../output/command-result.ts';
import { sanitizeLine } from '../../output/sanitize.ts';
import { itemFindings } from './annotations.ts';

/** An item. All texts are raw. */
export interface SummarySection extends Pick<CiItem, 'name' | 'detail'> {
  readonly isFailure: boolean;
  /** Shown when the section is unfolded; may be empty. */
  readonly lines: readonly ReportLine[];
}

/** What a run did. All texts are raw. */
export interface RunSummary {
  /** The command: `partnerctl plan`. */
  readonly title: string;
  /** The number of items by status: `2 created, 1 failed.` */
  readonly counts: string;
  /** The error that ended the command, formatted. */
  readonly failure: string | undefined;
  readonly sections: readonly SummarySection[];
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Reserved for the line that counts the omitted blocks. */
const FOOTER_BYTES = 200;

function reportLine({ indent, marker, text }: ReportLine): string {
  const plain = typeof text === 'string' ? text : text.map((part) => part.text).join('');
  return `${' '.repeat(Math.max(0, indent - 4))}${marker === undefined ? '' : `${marker} `}${plain}`;
}

/** The section of an item: the reasons of its failures, then its own lines. */
export function toSection(item: CiItem): SummarySection {
  const { name, detail, lines = [] } = item;
  const failures = itemFindings(item).map(({ message }) => message.split('\n'));
  const reasons = failures.flatMap(([first = '', ...rest]): ReportLine[] => [
    { indent: 4, marker: 'x', text: first },
    ...rest.map((text) => ({ indent: 6, text })),
  ]);
  return { name, detail, isFailure: failures.length > 0, lines: [...reasons, ...lines] };
}

/** Joins as many blocks as fit into `limit` bytes, and counts the omitted ones. */
function joinBlocks([head = '', ...blocks]: readonly string[], limit: number): string {
  let text = head;
  let room = limit - Buffer.byteLength(head) - FOOTER_BYTES;
  for (const [index, block] of blocks.entries()) {
    room -= Buffer.byteLength(block);
    if (room < 0) {
      const omitted = blocks.length - index;
      return `${text}<p>${omitted} of ${blocks.length} blocks are left out: the summary would be too long.</p>\n\n`;
    }
    text += block;
  }
  return text;
}

/**
 * Formats the summary of a run as Markdown: the counts, then a folded block for each item, failed ones first. Escapes text
 * from services and files.
 * @param limit the maximum size in bytes; blocks that do not fit are left out and counted
 * @param redact replaces secrets in a text
 */
export function formatSummary(run: RunSummary, limit: number, redact: (text: string) => string): string {
  const { title, counts, failure, sections } = run;
  const toHtml = (text: string): string =>
    sanitizeLine(redact(text)).replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
  // GitHub and GitLab do not expand mentions in `<pre>` and `<code>`. A blank line would end the block.
  const block = (summary: string, lines: readonly string[]): string =>
    `<details><summary>${summary}</summary>\n<pre>${lines
      .map(toHtml)
      .filter((line) => line.trim() !== '')
      .join('\n')}</pre>\n</details>\n\n`;
  const sectionBlock = ({ name, detail, isFailure, lines }: SummarySection): string =>
    block(`${isFailure ? '❌ ' : ''}<code>${toHtml(`${name}  ${detail}`)}</code>`, lines.map(reportLine));

  const failed = sections.filter(({ isFailure }) => isFailure);
  const detailed = sections.filter(({ isFailure, lines }) => !isFailure && lines.length > 0);
  const others = sections.filter(({ isFailure, lines }) => !isFailure && lines.length === 0);
  const [reason = '', ...details] = failure?.split('\n') ?? [];
  const head = `### ${title}\n\n${counts === '' ? '' : `<p>${toHtml(counts)}</p>\n\n`}`;
  const blocks = [
    // Failed items have the reason in their own blocks.
    ...(failure === undefined || failed.length > 0 ? [] : [block(`<code>${toHtml(reason)}</code>`, details)]),
    ...[...failed, ...detailed].map(sectionBlock),
    ...(others.length === 0
      ? []
      : [
          block(
            `${others.length} more`,
            others.map(({ name, detail }) => `${name}  ${detail}`),
          ),
        ]),
  ];
  return joinBlocks([head, ...blocks], limit);
}
