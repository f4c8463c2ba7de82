import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import type { GlobalFlags } from '../config/global-flags.ts';
import { EXIT, OutputError, UsageError, withHint } from '../errors.ts';
import { escapeWorkflowCommands, isGitHubActions } from '../output/ci/workflow-commands.ts';
import { shouldUseColor } from '../output/color.ts';
import { type CommandResult, failureOf, OUTPUT_FORMATS, type OutputFormat } from '../output/command-result.ts';
import { createProgress, progressSafeSink } from '../output/progress.ts';
import { createRedactor, type Redactor, redactingSink } from '../output/redact.ts';
import { render } from '../output/render.ts';
import { withReason } from '../output/sentences.ts';
import { isReaderGone, waitForReader } from '../output/stream-sink.ts';
import { type ClosableSink, type Environment, lazyIo, type Sink, withWrite } from '../platform/io.ts';
import type { CiDeps, CiReport, SummaryOptions } from './ci-report.ts';
import { createContext, type RuntimeDeps } from './create-context.ts';
import { type Invocation, pathOf } from './leaf.ts';
import type { PagerDeps } from './pager.ts';

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
  const near = (await import('../yaml/suggest.ts')).suggest(chosen, OUTPUT_FORMATS);
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
  /** Texts to redact: every token that the command has read. */
  readonly secrets: Set<string>;
  /** Aborts on a signal and at --timeout. */
  abortSignal?: AbortSignal;
}

/** Creates a sink whose writes fail with the signal's reason if the command was aborted and nobody reads the output. */
function abortableSink(sink: Sink, run: CommandRun): Sink {
  let isStalled = false;
  const write: Sink['write'] = async (text, encoding) => {
    isStalled ||= !(await waitForReader(sink.write(text, encoding), run.abortSignal));
    if (isStalled) throw run.abortSignal?.reason;
  };
  return withWrite(write, sink);
}

/** Creates the function that opens a pager. @returns undefined if none may be used */
function pagerFor(
  { input }: GlobalFlags,
  { io, env, signals }: RuntimeDeps,
  { redactor, ...parts }: Pick<PagerDeps, 'onOpen' | 'warn'> & { readonly redactor: Redactor },
): (() => Promise<ClosableSink>) | undefined {
  const { stdout } = io;
  const { rows } = stdout;
  if (!input || !stdout.isTTY || rows === undefined) return undefined;
  return async () => {
    const { choosePager, createPagedSink } = await import('./pager.ts');
    const command = choosePager(env);
    const sink = command ? createPagedSink(stdout, rows, command, { env, signals, ...parts }) : undefined;
    return Object.assign(redactingSink(sink ?? stdout, redactor), { close: async () => sink?.close() });
  };
}

/** Creates a sink that keeps GitHub Actions from running text as workflow commands. */
function workflowSafeSink(sink: Sink, env: Environment): Sink {
  return isGitHubActions(env)
    ? withWrite((text, encoding) => sink.write(escapeWorkflowCommands(text), encoding), sink)
    : sink;
}

/** Opens the report for CI systems. @returns undefined if none is wanted @throws as `CiReport.open` */
async function openReport(command: CommandUnknownOpts, deps: CiDeps): Promise<CiReport | undefined> {
  if (!command.options.some(({ long }) => long === '--summary')) return undefined;
  const options: SummaryOptions = command.opts();
  if (!options.summary && options.summaryFile === undefined && !isGitHubActions(deps.env)) return undefined;
  const { CiReport } = await import('./ci-report.ts');
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

/** Writes a text, in a terminal through the pager if it is long. */
async function writeText(text: string, out: Sink, openPager: ReturnType<typeof pagerFor>): Promise<number> {
  const pager = await openPager?.();
  try {
    await (pager ?? out).write(text);
  } finally {
    await pager?.close();
  }
  return EXIT.ok;
}

/**
 * Runs a command and writes its result.
 * @param flags the global options
 * @param run receives the secrets and the abort signal
 * @returns the exit code
 * @throws the error that ends the command
 */
export async function runCommand(
  { command, run: runAction }: Invocation,
  flags: GlobalFlags,
  deps: RuntimeDeps,
  run: CommandRun,
): Promise<number> {
  const { secrets } = run;
  const { io, env, clock, terminal } = deps;
  const redactor = createRedactor(secrets);
  const { redact } = redactor;
  const progress = createProgress(terminal, {
    enabled: io.stderr.isTTY && hasWidth(terminal) && !flags.quiet && !env.CI && env.TERM !== 'dumb',
    clock,
    redact,
  });
  const abortable = abortableSink(io.stderr, run);
  // A message that cannot be written must not stop the command.
  const messages = withWrite((text) => abortable.write(text).catch(() => undefined), io.stderr);
  const rawStderr = redactingSink(progressSafeSink(messages, progress), redactor);
  const stderr = workflowSafeSink(rawStderr, env);
  const stdout = redactingSink(progressSafeSink(abortableSink(io.stdout, run), progress), redactor);
  const addSecret = (secret: string): void => {
    secrets.add(secret);
    redactor.add(secret);
  };
  const revealSecret = (secret: string): void => {
    secrets.delete(secret);
    redactor.remove(secret);
  };
  const context = createContext({ ...deps, io: lazyIo(() => io.stdin, stdout, stderr) }, flags, {
    progress,
    addSecret,
    revealSecret,
    redact,
  });
  run.abortSignal = context.abortSignal;
  try {
    const chosen = await chosenFormat(flags, deps);
    const format = chosen ?? (io.stdout.isTTY ? 'table' : 'tsv');
    if (flags.query !== undefined) await (await import('../output/query.ts')).compileQuery(flags.query);
    const annotate = (lines: string) => rawStderr.write(lines);
    const report = await openReport(command, { env, format, redact, warn: context.warn, annotate });
    const { query, quiet, wide, color } = flags;
    const options = {
      format,
      isFormatChosen: chosen !== undefined,
      query,
      quiet,
      wide,
    };
    const openPager = pagerFor(flags, deps, { redactor, onOpen: () => progress.stop(), warn: context.warn });
    const finish = async (result: CommandResult): Promise<number> => {
      const out = result.kind === 'body' ? stdout : workflowSafeSink(stdout, env);
      if (result.kind === 'text' && query === undefined) return await writeText(result.text, out, openPager);
      const renderOptions = { ...options, color: shouldUseColor(color, env, io.stdout), now: clock.now() };
      await renderForReader(result, renderOptions, { stdout: out, stderr, redact, openPager });
      if (result.kind === 'object') await result.onWritten?.();
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
