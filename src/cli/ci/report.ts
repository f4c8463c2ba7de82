import { open, stat, writeFile } from 'node:fs/promises';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { describeFileError, LocalError, UsageError } from '../../errors.ts';
import type { CiItem, CommandResult, ListResult, OutputFormat, Row } from '../../output/command-result.ts';
import { toErrorObject } from '../../output/error-object.ts';
import type { Environment } from '../../platform/io.ts';
import { failureFindings, findingText, formatAnnotations, isGitHubActions, itemFindings } from './annotations.ts';
import { formatSummary, toSection } from './summary.ts';

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
function fromRepository(file: string, { GITHUB_WORKSPACE: root }: Environment): string {
  if (!root) return file;
  const path = relative(root, resolve(file));
  return path.startsWith('..') || isAbsolute(path) ? file : path.replaceAll(sep, '/');
}

/** Formats the error that ended a command. Mistakes in the input get a line each, without source excerpts. */
function summaryText(error: unknown): string {
  const placed = failureFindings(error).filter(({ place }) => place !== undefined);
  if (placed.length === 0) return findingText(error);
  const lines = placed.map(({ place, message }) => `${place?.file}:${place?.line}:${place?.column}: ${message}`);
  return [toErrorObject(error).message, ...lines].join('\n');
}

/** Collects the items of a command's result, and writes them for CI systems when the command ends. */
export class CiReport {
  private readonly items: { readonly item: CiItem; readonly sortIndex: number }[] = [];
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
      await this.finish(error);
      throw error;
    }
  }

  private async *collect(rows: AsyncIterable<Row>): AsyncGenerator<Row> {
    for await (const row of rows) {
      const { ci: item, sortIndex } = row;
      if (item) this.items.push({ item, sortIndex });
      yield row;
    }
  }

  private async finish(error?: unknown): Promise<void> {
    const { env, format, annotate, redact, warn } = this.deps;
    const isForProgram = format === 'json' || format === 'ndjson';
    if (isGitHubActions(env) && !isForProgram) {
      const named = this.items.flatMap(({ item }) =>
        itemFindings(item).map(({ place, message }) => {
          return { place, message: message.includes(item.name) ? message : `${item.name}: ${message}` };
        }),
      );
      // If items failed, the error only summarizes them.
      const all = named.length > 0 || error === undefined ? named : failureFindings(error);
      const findings = all.map(({ place, message }) => ({
        message: redact(message),
        place: place && { ...place, file: fromRepository(place.file, env) },
      }));
      if (findings.length > 0) await annotate(formatAnnotations(findings, this.title));
    }
    if (!this.summary) return;
    try {
      await this.writeSummary(this.summary, error);
    } catch (failure) {
      // The command's own outcome is more important.
      await warn(`The summary ${this.summary.path} cannot be written: ${describeFileError(failure)}`);
    }
  }

  private async writeSummary({ path, isShared }: SummaryFile, error: unknown): Promise<void> {
    const used = isShared ? (await stat(path)).size : 0;
    const items = this.items.toSorted((one, other) => one.sortIndex - other.sortIndex);
    const run = {
      title: this.title,
      counts: this.counts?.() ?? '',
      failure: error === undefined ? undefined : summaryText(error),
      sections: items.map(({ item }) => toSection(item)),
    };
    const text = formatSummary(run, MAX_SUMMARY_BYTES - used, this.deps.redact);
    await writeFile(path, text, { flag: isShared ? 'a' : 'w' });
  }
}
