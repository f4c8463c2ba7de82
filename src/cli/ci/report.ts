import { open, writeFile } from 'node:fs/promises';
import { isAbsolute, relative, resolve } from 'node:path';
import { describeFileError, LocalError, UsageError } from '../../errors.ts';
import type { CiItem, CommandResult, ListResult, OutputFormat, Row } from '../../output/command-result.ts';
import type { Environment } from '../../platform/io.ts';
import { failureFindings, formatAnnotations, isGitHubActions, itemFindings } from './annotations.ts';
import { formatSummary } from './summary.ts';

/** What a `CiReport` needs. */
export interface CiDeps {
  readonly env: Environment;
  readonly format: OutputFormat | 'auto';
  readonly redact: (text: string) => string;
  readonly warn: (text: string) => Promise<void>;
  /** Writes workflow commands to stderr. */
  readonly annotate: (lines: string) => Promise<void>;
}

interface SummaryFile {
  readonly path: string;
  /** `a` for the file of GitHub Actions, which collects what commands append. */
  readonly flag: 'a' | 'w';
}

/** What the options say about the summary. */
export interface SummaryOptions {
  readonly summary?: boolean;
  readonly summaryFile?: string;
}

/**
 * Finds the file for the summary. In GitHub Actions, that is the one for the page of the run, even without a flag.
 * @throws UsageError if --summary has no file
 */
function findSummaryFile({ summary, summaryFile }: SummaryOptions, env: Environment): SummaryFile | undefined {
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

/** Collects the items of a command's result, and writes them for CI systems when the command ends. */
export class CiReport {
  private readonly rows: Row[] = [];
  private readonly title: string;
  private readonly deps: CiDeps;
  private readonly summary: SummaryFile | undefined;
  private counts: ListResult['summary'];

  private constructor(title: string, deps: CiDeps, summary: SummaryFile | undefined) {
    this.title = title;
    this.deps = deps;
    this.summary = summary;
  }

  /**
   * Creates the report that the flags and the environment ask for. Call it before the command runs.
   * @throws UsageError if --summary has no file, LocalError if the file cannot be written
   */
  static async open(commandPath: string, options: SummaryOptions, deps: CiDeps): Promise<CiReport> {
    const summary = findSummaryFile(options, deps.env);
    if (summary) await checkWritable(summary.path);
    return new CiReport(`partnerctl ${commandPath}`, deps, summary);
  }

  /** Returns the result with rows that are collected as they are read. */
  watch(result: CommandResult): CommandResult {
    if (result.kind !== 'list') return result;
    this.counts = result.summary;
    return { ...result, rows: this.collect(result.rows) };
  }

  /** Runs the command, and writes the reports even if it fails. @returns its exit code @throws the command's error */
  async during(run: () => Promise<number>): Promise<number> {
    try {
      const code = await run();
      await this.finish(undefined);
      return code;
    } catch (error) {
      await this.finish(error);
      throw error;
    }
  }

  private async *collect(rows: AsyncIterable<Row>): AsyncGenerator<Row> {
    for await (const row of rows) {
      if (row.ci) this.rows.push(row);
      yield row;
    }
  }

  private async finish(error: unknown): Promise<void> {
    const sorted = this.rows.toSorted((one, other) => one.sortIndex - other.sortIndex);
    const items = sorted.flatMap(({ ci }) => ci ?? []);
    await this.annotate(error, items);
    if (!this.summary) return;
    const { path, flag } = this.summary;
    const run = { title: this.title, counts: this.counts?.() ?? '', error, items };
    try {
      await writeFile(path, formatSummary(run, this.deps.redact), { flag });
    } catch (failure) {
      // The command's own outcome is more important.
      await this.deps.warn(`The summary ${path} cannot be written: ${describeFileError(failure)}`);
    }
  }

  private async annotate(error: unknown, items: readonly CiItem[]): Promise<void> {
    const { env, format, annotate, redact } = this.deps;
    if (!isGitHubActions(env) || format === 'json' || format === 'ndjson') return;
    const ofItems = items.flatMap(itemFindings);
    // If items failed, the error only summarizes them.
    const all = ofItems.length > 0 || error === undefined ? ofItems : failureFindings(error);
    const findings = all.map((each) => ({
      ...each,
      message: redact(each.message),
      file: fromRepository(each.file, env),
    }));
    if (findings.length > 0) await annotate(formatAnnotations(findings, this.title));
  }
}
