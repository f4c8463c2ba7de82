import { open, stat, writeFile } from 'node:fs/promises';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { describeFileError, InterruptedError, LocalError, UsageError } from '../../errors.ts';
import type {
  CommandResult,
  Finding,
  ListResult,
  OutputFormat,
  Row,
  SummarySection,
} from '../../output/command-result.ts';
import { toErrorObject } from '../../output/error-object.ts';
import type { Environment } from '../../platform/io.ts';
import { formatAnnotations } from './annotations.ts';
import { failureFindings, findingText } from './findings.ts';
import { formatSummary } from './summary.ts';
import { isGitHubActions } from './workflow-commands.ts';

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
  /** Whether the host collects what commands append, instead of one file. */
  readonly isShared: boolean;
}

/** GitHub accepts 1,048,576 bytes per step, and GitLab 1,000,000 characters per comment. */
const MAX_SUMMARY_BYTES = 1_000_000;

/** How many findings to keep; the rest are only counted. */
const MAX_FINDINGS = 1_000;

/** What the options say about the summary. */
export interface SummaryOptions {
  readonly summary?: boolean;
  readonly summaryFile?: string;
}

/** GitHub shows a summary on the page of the run, so that it is written there without a flag. @throws UsageError if --summary has no file */
function findSummaryFile({ summary, summaryFile }: SummaryOptions, env: Environment): SummaryFile | undefined {
  const collected = env.GITHUB_STEP_SUMMARY || undefined;
  if (summaryFile !== undefined) return { path: summaryFile, isShared: summaryFile === collected };
  if (collected !== undefined && (summary || isGitHubActions(env))) return { path: collected, isShared: true };
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
    throw new LocalError(`The summary ${path} cannot be written.`, {
      why: describeFileError(error),
      hint: 'Nothing was sent.',
      cause: error,
    });
  }
}

/** Returns the path of a file relative to the repository, if the CI system tells where that is. */
function fromRepository(file: string, env: Environment): string {
  const root = env.GITHUB_WORKSPACE;
  if (!root) return file;
  const path = relative(root, resolve(file));
  return path.startsWith('..') || isAbsolute(path) ? file : path.replaceAll(sep, '/');
}

/** Sorts findings by file, line, and column. Those without a file come last. */
function byPlace({ place: one }: Finding, { place: other }: Finding): number {
  if (!one || !other) return Number(!one) - Number(!other);
  const files = one.file === other.file ? 0 : one.file < other.file ? -1 : 1;
  return files || (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0);
}

/** Formats the error that ended a command. Mistakes in the input get a line each, without source excerpts. */
function summaryText(error: unknown): string {
  const { message } = toErrorObject(error);
  const found = failureFindings(error);
  const errorText = findingText(error);
  if (found.some(({ message: text }) => text === errorText)) return errorText;
  const lines = found.map(({ place, message: text }) =>
    place === undefined
      ? text
      : [place.file, place.line, place.column, ` ${text}`].filter((part) => part !== undefined).join(':'),
  );
  return [message, ...lines].join('\n');
}

/** Collects a command's findings and results, and writes them for CI systems when the command ends. */
export class CiReport {
  private readonly findings: Finding[] = [];
  private readonly total = { error: 0, warning: 0 };
  private readonly rows: Pick<Row, 'section' | 'sortIndex'>[] = [];
  private readonly title: string;
  private readonly deps: CiDeps;
  private readonly summary: SummaryFile | undefined;
  private counts: ListResult['summary'];

  private constructor(commandPath: string, deps: CiDeps, summary: SummaryFile | undefined) {
    this.title = `partnerctl ${commandPath}`;
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
    return new CiReport(commandPath, deps, summary);
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
      await this.finish();
      return code;
    } catch (error) {
      // If rows had errors, this error only summarizes them.
      if (this.total.error === 0) for (const finding of failureFindings(error)) this.add(finding);
      await this.finish(error);
      throw error;
    }
  }

  private async *collect(rows: AsyncIterable<Row>): AsyncGenerator<Row> {
    for await (const row of rows) {
      for (const finding of row.findings ?? []) this.add(finding);
      if (this.summary) this.rows.push({ section: row.section, sortIndex: row.sortIndex });
      yield row;
    }
  }

  private add(finding: Finding): void {
    this.total[finding.level] += 1;
    if (this.findings.length >= MAX_FINDINGS) return;
    const { redact, env } = this.deps;
    const { place } = finding;
    this.findings.push({
      ...finding,
      message: redact(finding.message),
      place: place && { ...place, file: fromRepository(place.file, env) },
    });
  }

  private async finish(error?: unknown): Promise<void> {
    const { env, format, annotate } = this.deps;
    const { summary } = this;
    this.findings.sort(byPlace);
    const isForProgram = format === 'json' || format === 'ndjson';
    if (isGitHubActions(env) && !isForProgram && this.findings.length > 0) {
      await annotate(formatAnnotations(this.findings, this.total, this.title));
    }
    if (summary) await this.write(summary.path, () => this.writeSummary(summary, error));
  }

  /** The sections of all rows, in input order. */
  private sections(): SummarySection[] {
    const rows = this.rows.toSorted((one, other) => one.sortIndex - other.sortIndex);
    return rows.flatMap(({ section }) => section?.() ?? []);
  }

  private async writeSummary({ path, isShared }: SummaryFile, error: unknown): Promise<void> {
    const used = isShared ? (await stat(path)).size : 0;
    const run = {
      title: this.title,
      counts: this.counts?.() ?? '',
      failure: error === undefined ? undefined : summaryText(error),
      wasInterrupted: error instanceof InterruptedError,
      sections: this.sections(),
    };
    const text = formatSummary(run, MAX_SUMMARY_BYTES - used, this.deps.redact);
    await writeFile(path, text, { flag: isShared ? 'a' : 'w' });
  }

  /** Writes a report. Only warns if that fails, because the command's own outcome is more important. */
  private async write(path: string, write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      await this.deps.warn(`The report ${path} cannot be written: ${describeFileError(error)}`);
    }
  }
}
