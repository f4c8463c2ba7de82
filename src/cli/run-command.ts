import { type GlobalFlags, parseGlobalFlags } from '../config/flags.ts';
import { EXIT, type PartnerctlError, UsageError } from '../errors.ts';
import { shouldUseColor } from '../output/color.ts';
import { type CommandResult, OUTPUT_FORMATS, type OutputFormat } from '../output/command-result.ts';
import { createProgress, progressSafeSink } from '../output/progress.ts';
import { createRedactor, redactingSink } from '../output/redact.ts';
import { render } from '../output/render.ts';
import { isReaderGone } from '../output/stream-sink.ts';
import { createContext, type RuntimeDeps } from './create-context.ts';
import { lazyIo } from './io.ts';
import type { ParsedCommand } from './parse.ts';

/** Whether a spinner fits: a terminal without a window, as in a container, reports 0 columns. */
function hasWidth(terminal: NodeJS.WritableStream): boolean {
  return !('columns' in terminal) || terminal.columns !== 0;
}

/** @throws UsageError for an unknown format in PARTNER_OUTPUT */
function outputFormat(flags: GlobalFlags, { env, io }: RuntimeDeps): OutputFormat {
  const chosen = flags.output ?? (env.PARTNER_OUTPUT || (io.stdout.isTTY ? 'table' : 'tsv'));
  const format = OUTPUT_FORMATS.find((candidate) => candidate === chosen);
  if (format) return format;
  throw new UsageError(`PARTNER_OUTPUT is ${JSON.stringify(chosen)}, which is not an output format.`, {
    hint: `Set it to one of: ${OUTPUT_FORMATS.join(', ')}.`,
  });
}

function failureOf(result: CommandResult): PartnerctlError | undefined {
  if (result.kind === 'object') return result.failure;
  return result.kind === 'list' ? result.failure?.() : undefined;
}

/**
 * Runs a command and writes its result.
 * @param secrets texts to redact; the function adds every token that the command reads
 * @returns the exit code
 * @throws the error that ends the command
 */
export async function runCommand(parsed: ParsedCommand, deps: RuntimeDeps, secrets: Set<string>): Promise<number> {
  const { io, env, clock, terminal } = deps;
  const flags = parseGlobalFlags(parsed.globals);
  const redactor = createRedactor(secrets);
  const { redact } = redactor;
  const progress = createProgress(terminal, {
    enabled: io.stderr.isTTY && hasWidth(terminal) && !flags.quiet && !env.CI && env.TERM !== 'dumb',
    clock,
    redact,
  });
  const stderr = redactingSink(progressSafeSink(io.stderr, progress), redactor);
  const stdout = redactingSink(progressSafeSink(io.stdout, progress), redactor);
  const addSecret = (secret: string): void => {
    secrets.add(secret);
    redactor.add(secret);
  };
  const context = createContext({ ...deps, io: lazyIo(() => io.stdin, stdout, stderr) }, flags, {
    progress,
    addSecret,
    redact,
  });
  try {
    const format = outputFormat(flags, deps);
    const run = parsed.command.prepare(parsed.args);
    if (flags.query !== undefined) await (await import('../output/query.ts')).checkQuery(flags.query);
    const result = await run(context);
    const color = shouldUseColor(flags.color, env, io.stdout);
    try {
      await render(result, { format, query: flags.query, color, quiet: flags.quiet }, { stdout, stderr, redact });
    } catch (error) {
      // The exit code reports the command's outcome, even if the reader is gone.
      if (!isReaderGone(error)) throw error;
    }
    if (result.kind === 'object') await result.onWritten?.();
    progress.stop();
    const failure = failureOf(result);
    if (failure) throw failure;
    return result.kind === 'none' ? (result.exitCode ?? EXIT.ok) : EXIT.ok;
  } finally {
    await context.close();
  }
}
