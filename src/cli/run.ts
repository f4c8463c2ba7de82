import { EXIT, OutputError, UsageError, withHint } from '../errors.ts';
import { shouldUseColor } from '../output/color.ts';
import {
  type CommandResult,
  FORMATS,
  failureOf,
  findFormat,
  OUTPUT_FORMATS,
  type OutputFormat,
} from '../output/command-result.ts';
import { describeError } from '../output/error-text.ts';
import { createProgress } from '../output/progress.ts';
import type { Redactor } from '../output/redact.ts';
import { render } from '../output/render.ts';
import { isReaderGone, outputSink } from '../output/sink.ts';
import { lazyIo, type Sink } from '../platform/io.ts';
import { escapeWorkflowCommands, isGitHubActions } from './ci/annotations.ts';
import { type Invocation, pathOf } from './command.ts';
import { type Context, createContext, type RuntimeDeps } from './context.ts';
import type { GlobalFlags } from './options.ts';

/** What reporting a command's failure needs to know about its run. */
export interface CommandRun {
  /** Knows every token that the command has read. */
  readonly redactor: Redactor;
  /** Aborts on a signal and at --timeout. */
  abortSignal?: AbortSignal;
}

/** @throws UsageError for an unknown format in PARTNER_OUTPUT; --output is one of them */
function chooseFormat({ output }: GlobalFlags, { PARTNER_OUTPUT }: RuntimeDeps['env']): OutputFormat | 'auto' {
  const chosen = output ?? (PARTNER_OUTPUT || 'auto');
  const format = chosen === 'auto' ? chosen : findFormat(chosen);
  if (format) return format;
  throw new UsageError(`PARTNER_OUTPUT is ${JSON.stringify(chosen)}, which is not an output format.`, {
    hint: `Set it to one of: ${OUTPUT_FORMATS.join(', ')}.`,
  });
}

/**
 * Writes a result. If its reader is gone, the exit code still reports the command's outcome.
 * @throws the stream's `readerGone`; the command's failure, with a hint, if its result cannot be written; else as `render` does
 */
async function renderForReader(...[result, options, io]: Parameters<typeof render>): Promise<void> {
  try {
    await render(result, options, io);
  } catch (error) {
    if (isReaderGone(error)) {
      if (result.kind === 'stream' && result.readerGone) throw result.readerGone;
      return;
    }
    if (!(error instanceof OutputError)) throw error;
    const failure = failureOf(result);
    throw failure ? withHint(failure, { hint: describeError(error) }) : error;
  }
}

async function openCiReport(
  { command }: Invocation,
  context: Context,
  annotate: ((lines: string) => Promise<void>) | undefined,
) {
  const { summaryFile }: { readonly summaryFile?: string } = command.opts();
  const isReported = isGitHubActions(context.env) && command.options.some(({ long }) => long === '--summary-file');
  if (summaryFile === undefined && !isReported) return undefined;
  const { openReport } = await import('./ci/report.ts');
  return openReport(`partnerctl ${pathOf(command)}`, summaryFile, context, annotate);
}

/**
 * Runs a command and writes its result.
 * @param run receives the secrets, in its redactor, and the abort signal
 * @returns the exit code
 * @throws the error that ends the command
 */
export async function runCommand(
  invocation: Invocation,
  flags: GlobalFlags,
  deps: RuntimeDeps,
  run: CommandRun,
): Promise<number> {
  const { redact } = run.redactor;
  const { io, env, clock } = deps;
  const { terminal } = io;
  const format = chooseFormat(flags, env);
  // A terminal without a window, such as in a container, reports 0 columns: no room for a spinner.
  const hasWidth = !('columns' in terminal) || terminal.columns !== 0;
  const enabled = io.stderr.isTTY && hasWidth && !flags.quiet && !env.CI && env.TERM !== 'dumb';
  const progress = createProgress(terminal, { enabled, clock, redact });
  const isGitHub = isGitHubActions(env);
  const open = (sink: Sink, clean: (text: string) => string) =>
    // A message that cannot be written must not stop the command.
    outputSink(sink, { clean, progress, signal: () => run.abortSignal, isOptional: sink === io.stderr });
  const clean = (text: string) => (isGitHub ? escapeWorkflowCommands(redact(text)) : redact(text));
  const [stdout, stderr] = [open(io.stdout, clean), open(io.stderr, clean)];
  const ownIo = lazyIo(() => io.stdin, { stdout: io.stdout, stderr, terminal });
  const context = createContext({ ...deps, io: ownIo }, flags, progress, run.redactor);
  run.abortSignal = context.abortSignal;

  const finish = async (result: CommandResult): Promise<number> => {
    const { query, quiet, wide, color } = flags;
    const options = { format, query, quiet, wide, color: shouldUseColor(color, env, io.stdout), now: clock.now() };
    const out = result.kind === 'body' ? open(io.stdout, redact) : stdout;
    await renderForReader(result, options, { stdout: out, stderr, redact });
    progress.stop();
    const failure = failureOf(result, io.stdout.isTTY && (format === 'auto' || FORMATS[format].isLaidOut));
    if (failure) throw failure;
    const code = result.kind === 'list' ? result.exitCode?.() : result.kind === 'none' ? result.exitCode : undefined;
    return code ?? EXIT.ok;
  };
  const reported = async (): Promise<number> => {
    const hasAnnotations = isGitHub && (format === 'auto' || !FORMATS[format].hasJsonErrors);
    const report = await openCiReport(invocation, context, hasAnnotations ? open(io.stderr, redact).write : undefined);
    let result: CommandResult | undefined;
    let failure: unknown;
    try {
      result = await invocation.run(context);
      return await finish(result);
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      await report?.finish(result, failure);
    }
  };
  try {
    if (flags.query !== undefined) await (await import('../output/query.ts')).compileQuery(flags.query);
    return await reported();
  } finally {
    progress.stop();
    for (const close of context.closers) await close();
  }
}
