import { open, writeFile } from 'node:fs/promises';
import { isAbsolute, relative, resolve } from 'node:path';
import { describeFileError, LocalError, UsageError } from '../../errors.ts';
import type { CiItem, CommandResult, ListResult, ReportLine, Row } from '../../output/command-result.ts';
import { formatReport } from '../../output/report.ts';
import type { Environment } from '../../platform/io.ts';
import type { Context } from '../context.ts';
import { type Finding, failureFindings, formatAnnotation, isGitHubActions, itemFindings } from './annotations.ts';

/** What the options say about the summary. */
export interface SummaryOptions {
  readonly summary?: boolean;
  readonly summaryFile?: string;
}

/**
 * Finds the file for the summary, and how to open it: `a` for that of GitHub Actions, which collects what commands
 * append, even without a flag.
 * @throws UsageError if --summary has no file
 */
function findSummaryFile({ summary, summaryFile }: SummaryOptions, env: Environment) {
  const collected = env.GITHUB_STEP_SUMMARY || undefined;
  if (summaryFile !== undefined) return { path: summaryFile, flag: summaryFile === collected ? 'a' : 'w' };
  if (collected !== undefined && (summary || isGitHubActions(env))) return { path: collected, flag: 'a' };
  if (!summary) return undefined;
  throw new UsageError('--summary needs a file here: GITHUB_STEP_SUMMARY is not set.', {
    hint: 'Give one: --summary-file summary.md',
  });
}

/** @throws LocalError if the file cannot be written */
async function checkWritable(path: string): Promise<void> {
  try {
    await (await open(path, 'a')).close();
  } catch (error) {
    const info = { why: describeFileError(error), hint: 'Nothing was sent.', cause: error };
    throw new LocalError(`The summary ${path} cannot be written.`, info);
  }
}

/** Returns the path of a file relative to the repository, as annotations need it. */
function fromRepository(file: string | undefined, { GITHUB_WORKSPACE: root }: Environment): string | undefined {
  if (!root || file === undefined) return file;
  const path = relative(root, resolve(file));
  return path.startsWith('..') || isAbsolute(path) ? file : path;
}

/** The lines of a text, which may have several. */
function textLines(text: string, indent: number): readonly ReportLine[] {
  return text.split('\n').map((line) => ({ indent, text: line }));
}

/** The lines of an item: its name, the reasons of its failures, and its own lines. */
function itemLines({ name, detail, lines = [], ...item }: CiItem): readonly ReportLine[] {
  const failures = itemFindings({ name, detail, ...item });
  const head = `${failures.length > 0 ? '❌ ' : ''}${name}  ${detail}`;
  return [{ indent: 0, text: head }, ...failures.flatMap(({ message }) => textLines(message, 4)), ...lines];
}

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

/**
 * Formats the summary of a run as Markdown: the counts, then the items, failed ones first. Escapes all texts.
 * @param redact replaces secrets in a text
 */
export async function formatSummary(
  { title, counts, failures, items }: RunSummary,
  redact: (text: string) => string,
): Promise<string> {
  const toHtml = async (lines: readonly ReportLine[]): Promise<string> => {
    const text = await formatReport(lines, { color: false, width: Number.POSITIVE_INFINITY, redact });
    // A blank line would end the block.
    const filled = text.split('\n').filter((line) => line.trim() !== '');
    return filled.join('\n').replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
  };
  const failed = items.filter((item) => itemFindings(item).length > 0);
  const others = items.filter((item) => !failed.includes(item));
  const reasons = failures.flatMap(({ file, line, message }) =>
    textLines(`${file === undefined ? '' : `${file}:${line}: `}${message}`, 0),
  );
  const total = await toHtml([{ indent: 0, text: counts }]);
  const text = await toHtml([...reasons, ...[...failed, ...others].flatMap(itemLines)]);
  const heading = `### ${title}\n\n${total && `<p>${total}</p>\n\n`}`;
  // GitHub and GitLab do not expand mentions in `<pre>`.
  return text === '' ? heading : `${heading}<pre>${text}</pre>\n\n`;
}

/** Reports what a command did to a CI system. */
export interface CiReport {
  /** Returns the result with rows that are collected as they are read. */
  watch(result: CommandResult): CommandResult;
  /** Writes the annotations and the summary. @param error the one that ended the command */
  finish(error: unknown): Promise<void>;
}

/**
 * Creates the report that the flags and the environment ask for. Call it before the command runs.
 * @param annotate writes annotations; without it, there are none
 * @throws UsageError if --summary has no file, LocalError if the file cannot be written
 */
export async function openReport(
  title: string,
  options: SummaryOptions,
  { env, redact, warn }: Context,
  annotate?: (lines: string) => Promise<void>,
): Promise<CiReport> {
  const file = findSummaryFile(options, env);
  if (file) await checkWritable(file.path);
  const rows: Row[] = [];
  let counts: ListResult['summary'];

  async function* collect(read: AsyncIterable<Row>): AsyncGenerator<Row> {
    for await (const row of read) {
      if (row.ci) rows.push(row);
      yield row;
    }
  }

  return {
    watch(result) {
      if (result.kind !== 'list') return result;
      counts = result.summary;
      return { ...result, rows: collect(result.rows) };
    },
    async finish(error) {
      const items = rows.toSorted((one, other) => one.sortIndex - other.sortIndex).flatMap(({ ci }) => ci ?? []);
      const ofItems = items.flatMap(itemFindings);
      // If items failed, the error only summarizes them.
      const failures = ofItems.length > 0 ? [] : failureFindings(error);
      const annotations = [...ofItems, ...failures].map(({ message, file, ...place }) =>
        formatAnnotation({ ...place, message: redact(message), file: fromRepository(file, env) }, title),
      );
      if (annotations.length > 0) await annotate?.(annotations.join(''));
      if (!file) return;
      const text = await formatSummary({ title, counts: counts?.() ?? '', failures, items }, redact);
      // The command's own outcome is more important.
      await writeFile(file.path, text, { flag: file.flag }).catch((failure: unknown) =>
        warn(`The summary ${file.path} cannot be written: ${describeFileError(failure)}`),
      );
    },
  };
}
