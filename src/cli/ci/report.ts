import { open, writeFile } from 'node:fs/promises';
import { isAbsolute, relative, resolve } from 'node:path';
import { describeFileError, LocalError, UsageError } from '../../errors.ts';
import type { CommandResult, ListResult, Row } from '../../output/command-result.ts';
import type { Environment } from '../../platform/io.ts';
import type { Context } from '../context.ts';
import { failureFindings, formatAnnotations, isGitHubActions, itemFindings } from './annotations.ts';
import { formatSummary } from './summary.ts';

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
      const ofRun = ofItems.length > 0 ? [] : failureFindings(error);
      const findings = [...ofItems, ...ofRun].map((each) => ({
        ...each,
        message: redact(each.message),
        file: fromRepository(each.file, env),
      }));
      if (findings.length > 0) await annotate?.(formatAnnotations(findings, title));
      if (!file) return;
      const text = formatSummary({ title, counts: counts?.() ?? '', failures: ofRun, items }, redact);
      // The command's own outcome is more important.
      await writeFile(file.path, text, { flag: file.flag }).catch((failure: unknown) =>
        warn(`The summary ${file.path} cannot be written: ${describeFileError(failure)}`),
      );
    },
  };
}
