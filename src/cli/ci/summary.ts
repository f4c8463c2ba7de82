import type { CiItem, ReportLine } from '../../output/command-result.ts';
import { sanitizeLine } from '../../output/sanitize.ts';
import { type Finding, itemFindings } from './annotations.ts';

/** What a run did. All texts are raw. */
interface RunSummary {
  /** The command: `partnerctl plan`. */
  readonly title: string;
  /** The number of items by status: `2 created, 1 failed.` */
  readonly counts: string;
  /** The failures that are not those of items. */
  readonly failures: readonly Finding[];
  readonly items: readonly CiItem[];
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function reportLine({ indent, marker, text }: ReportLine): string {
  const plain = typeof text === 'string' ? text : text.map((part) => part.text).join('');
  return `${' '.repeat(indent)}${marker === undefined ? '' : `${marker} `}${plain}`;
}

/** The lines of an item: its name, the reasons of its failures, and its own lines. */
function itemLines(item: CiItem): readonly string[] {
  const failures = itemFindings(item);
  const reasons = failures.flatMap(({ message }) => message.split('\n')).map((line) => `    ${line}`);
  const head = `${failures.length > 0 ? '❌ ' : ''}${item.name}  ${item.detail}`;
  return [head, ...reasons, ...(item.lines ?? []).map(reportLine)];
}

/**
 * Formats the summary of a run as Markdown: the counts, then the items, failed ones first. Escapes all texts.
 * @param redact replaces secrets in a text
 */
export function formatSummary(
  { title, counts, failures, items }: RunSummary,
  redact: (text: string) => string,
): string {
  const toHtml = (text: string): string =>
    sanitizeLine(redact(text)).replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
  const failed = items.filter((item) => itemFindings(item).length > 0);
  const others = items.filter((item) => !failed.includes(item));
  const reasons = failures.flatMap(({ file, line, message }) =>
    `${file === undefined ? '' : `${file}:${line}: `}${message}`.split('\n'),
  );
  const lines = [...reasons, ...[...failed, ...others].flatMap(itemLines)].map(toHtml);
  const heading = `### ${title}\n\n${counts === '' ? '' : `<p>${toHtml(counts)}</p>\n\n`}`;
  // GitHub and GitLab do not expand mentions in `<pre>`. A blank line would end it.
  const text = lines.filter((line) => line.trim() !== '').join('\n');
  return text === '' ? heading : `${heading}<pre>${text}</pre>\n\n`;
}
