import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import type { GlobalFlags } from '../config/global-flags.ts';
import { EXIT, OutputError, UsageError, withHint } from '../errors.ts';
import { shouldUseColor } from '../output/color.ts';
import { type CommandResult, failureOf, OUTPUT_FORMATS, type OutputFormat } from '../output/command-result.ts';
import { createProgress } from '../output/progress.ts';
import type { Redactor } from '../output/redact.ts';
import { render } from '../output/render.ts';
import { withReason } from '../output/sentences.ts';
import { isReaderGone, outputSink } from '../output/sink.ts';
import { lazyIo } from '../platform/io.ts';
import type { CiDeps, CiReport, SummaryOptions } from './ci/report.ts';
import { escapeWorkflowCommands, isGitHubActions } from './ci/workflow-commands.ts';
import { createContext, type RuntimeDeps } from './create-context.ts';
import { type Invocation, pathOf } from './leaf.ts';

/** Whether there is room for a spinner. A terminal without a window, such as in a container, reports 0 columns. */
function hasWidth(terminal: NodeJS.WritableStream): boolean {
  return !('columns' in terminal) || terminal.columns !== 0;
}

/** @returns undefined if the user chose none @throws UsageError for an unknown format in PARTNER_OUTPUT */
async function chosenFormat({ output }: GlobalFlags, { env }: RuntimeDeps): Promise<OutputFormat | undefined> {
  const chosen = output ?? (env.PARTNER_OUTPUT || undefined);
  if (chosen === undefined) return undefined;
  const format = OUTPUT_FORMATS.find((candidate) => candidate === chosen);
  if (format) return format;
  const near = (await import('../platform/suggest.ts')).suggest(chosen, OUTPUT_FORMATS);
  throw new UsageError(`PARTNER_OUTPUT is ${JSON.stringify(chosen)}, which is not an output format.`, {
    hint: `${near === undefined ? '' : `Did you mean ${near}? `}Set it to one of: ${OUTPUT_FORMATS.join(', ')}.`,
  });
}

/** The exit code of a command that did not fail. */
function exitCodeOfResult(result: CommandResult): number {
  if (result.kind === 'none') return result.exitCode ?? EXIT.ok;
  return (result.kind === 'list' ? result.exitCode?.() : undefined) ?? EXIT.ok;
}

/** What reporting a command's failure needs to know about its run. */
export interface CommandRun {
  /** Knows every token that the command has read. */
  readonly redactor: Redactor;
  /** Aborts on a signal and at --timeout. */
  abortSignal?: AbortSignal;
}

/** Opens the report for CI systems. @returns undefined if none is wanted @throws as `CiReport.open` */
async function openReport(command: CommandUnknownOpts, deps: CiDeps): Promise<CiReport | undefined> {
  if (!command.options.some(({ long }) => long === '--summary')) return undefined;
  const options: SummaryOptions = command.opts();
  if (!options.summary && options.summaryFile === undefined && !isGitHubActions(deps.env)) return undefined;
  const { CiReport } = await import('./ci/report.ts');
  return CiReport.open(pathOf(command), options, deps);
}

/**
 * Writes a result. The exit code reports the command's outcome, also if the reader is gone.
 * @throws the command's failure, with a hint, if its result cannot be written; else as `render` does
 */
async function renderForReader(...[result, options, io]: Parameters<typeof render>): Promise<void> {
  try {
    await render(result, options, io);
  } catch (error) {
    if (isReaderGone(error)) return;
    if (!(error instanceof OutputError)) throw error;
    const failure = failureOf(result);
    throw failure ? withHint(failure, { hint: withReason(error.message, error.info.why) }) : error;
  }
}

/**
 * Runs a command and writes its result.
 * @param flags the global options
 * @param run receives the secrets, in its redactor, and the abort signal
 * @returns the exit code
 * @throws the error that ends the command
 */
export async function runCommand(
  { command, run: runAction }: Invocation,
  flags: GlobalFlags,
  deps: RuntimeDeps,
  run: CommandRun,
): Promise<number> {
  const { add: addSecret, remove: revealSecret, redact } = run.redactor;
  const { io, env, clock, terminal } = deps;
  const progress = createProgress(terminal, {
    enabled: io.stderr.isTTY && hasWidth(terminal) && !flags.quiet && !env.CI && env.TERM !== 'dumb',
    clock,
    redact,
  });
  const escapeCommands = isGitHubActions(env) ? escapeWorkflowCommands : (text: string) => text;
  const signal = () => run.abortSignal;
  const rawStdout = outputSink(io.stdout, { clean: redact, progress, signal });
  const stdout = outputSink(io.stdout, { clean: (text) => escapeCommands(redact(text)), progress, signal });
  // A message that cannot be written must not stop the command.
  const rawStderr = outputSink(io.stderr, { clean: redact, progress, signal, isOptional: true });
  const stderr = outputSink(io.stderr, {
    clean: (text) => escapeCommands(redact(text)),
    progress,
    signal,
    isOptional: true,
  });
  const context = createContext({ ...deps, io: lazyIo(() => io.stdin, rawStdout, stderr) }, flags, {
    progress,
    addSecret,
    revealSecret,
    redact,
  });
  run.abortSignal = context.abortSignal;
  try {
    const format: OutputFormat | 'auto' = (await chosenFormat(flags, deps)) ?? 'auto';
    if (flags.query !== undefined) await (await import('../output/query.ts')).compileQuery(flags.query);
    const annotate = (lines: string) => rawStderr.write(lines);
    const report = await openReport(command, { env, format, redact, warn: context.warn, annotate });
    const { query, quiet, wide, color } = flags;
    const options = { format, query, quiet, wide, color: shouldUseColor(color, env, io.stdout) };
    const page = async (text: string): Promise<void> => {
      if (!stdout.isTTY || !flags.input) return stdout.write(text);
      const { writePaged } = await import('./pager.ts');
      progress.stop();
      await writePaged(redact(text), stdout, { env, signals: deps.signals, warn: context.warn });
    };
    const finish = async (result: CommandResult): Promise<number> => {
      if (result.kind === 'text' && query === undefined) {
        await page(result.text);
        return EXIT.ok;
      }
      const out = result.kind === 'body' ? rawStdout : stdout;
      await renderForReader(result, { ...options, now: clock.now() }, { stdout: out, stderr, redact, page });
      progress.stop();
      const failure = failureOf(result);
      if (failure) throw failure;
      return exitCodeOfResult(result);
    };
    if (!report) return await finish(await runAction(context));
    return await report.during(async () => finish(report.watch(await runAction(context))));
  } finally {
    await context.close();
  }
}
