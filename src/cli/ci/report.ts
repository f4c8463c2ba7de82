import { writeFile } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { describeFileError } from '../../errors.ts';
import type { BatchItem, CommandResult, ListResult, ReportLine } from '../../output/command-result.ts';
import { formatReport } from '../../output/report.ts';
import { cellText } from '../../output/sanitize.ts';
import type { Context } from '../context.ts';
import { failureFindings, formatAnnotation, isGitHubActions, itemFindings } from './annotations.ts';

function textLines(text: string, indent: number): readonly ReportLine[] {
  return text.split('\n').map((line) => ({ indent, text: line }));
}

/** GitHub refuses a comment of more than 65,536 characters. */
const MAX_SUMMARY = 60_000;

/**
 * Formats a summary as Markdown, which is cut off after a whole item.
 * @param items those that have lines are folded, and left out if there is nothing below them
 * @param redact replaces secrets in a text
 */
export async function formatSummary(
  title: string,
  totals: readonly ReportLine[],
  items: readonly BatchItem[],
  redact: (text: string) => string,
): Promise<string> {
  // An indented code block, which no text can end.
  const code = async (lines: readonly ReportLine[]): Promise<string> => {
    const text = await formatReport(lines, { color: false, width: Number.POSITIVE_INFINITY, redact });
    return text.replace(/^(?=.)/gm, '    ');
  };
  const formatItem = async (item: BatchItem): Promise<string> => {
    const failures = itemFindings(item);
    const { name, source, status, id, lines } = item;
    const head = `${failures.length > 0 ? '❌ ' : ''}${name}  ${[source, status, id].filter(Boolean).join(', ')}`;
    const below = [...failures.flatMap(({ message }) => textLines(message, 4)), ...(lines?.() ?? [])];
    if (lines === undefined) return code([{ indent: 0, text: head }, ...below]);
    const label = cellText(head, redact).replaceAll('&', '&amp;').replaceAll('<', '&lt;');
    return below.length === 0
      ? ''
      : `\n<details><summary><code>${label}</code></summary>\n\n${await code(below)}\n</details>\n`;
  };
  let text = `### ${title}\n\n${await code(totals)}`;
  for (const [index, item] of items.entries()) {
    const next = await formatItem(item);
    if (text.length + next.length > MAX_SUMMARY) return `${text}\n… and ${items.length - index} more\n\n`;
    text += next;
  }
  return `${text}\n`;
}

/**
 * Creates the report that the flag and the environment ask for. Call it before the command runs.
 * @param summaryFile the value of --summary-file; by default, the summary goes to the page of a run in GitHub Actions
 * @param annotate writes annotations; without it, there are none
 */
export function openReport(
  title: string,
  summaryFile: string | undefined,
  { env, redactor: { redact }, warn }: Context,
  annotate?: (lines: string) => Promise<void>,
) {
  const page = isGitHubActions(env) ? env.GITHUB_STEP_SUMMARY : undefined;
  const path = summaryFile ?? page;
  return {
    /**
     * Writes the annotations and the summary.
     * @param result what the command returned, if it did; its rows were read
     * @param error the one that ended the command
     */
    async finish(result: CommandResult | undefined, error: unknown): Promise<void> {
      const { summary: counts, ci }: Partial<ListResult> = result?.kind === 'list' ? result : {};
      const items = ci?.() ?? [];
      const ofItems = items.flatMap(itemFindings);
      // If items failed, the error only summarizes them.
      const failures = ofItems.length > 0 ? [] : failureFindings(error);
      const root = env.GITHUB_WORKSPACE;
      const annotations = [...ofItems, ...failures].map(({ message, why, file: path, ...place }) => {
        const inRepository = root && path !== undefined ? relative(root, resolve(path)) : path;
        const texts = { message: redact(message), why: why && redact(why) };
        return formatAnnotation({ ...place, ...texts, file: inRepository }, title);
      });
      if (annotations.length > 0) await annotate?.(annotations.join(''));
      // Such as a schema: there is nothing to sum up.
      if (!path || (counts === undefined && failures.length === 0)) return;
      const total = counts ? [counts()] : [];
      const places = failures.map(({ file, line, message }) => (file ? `${file}:${line}: ${message}` : message));
      const totals = [...total, ...places].flatMap((each) => textLines(each, 0));
      const text = await formatSummary(title, totals, items, redact);
      // GitHub collects what the commands of a step append.
      await writeFile(path, text, { flag: path === page ? 'a' : 'w' }).catch((failure: unknown) =>
        warn(`The summary ${path} cannot be written: ${describeFileError(failure)}`),
      );
    },
  };
}
