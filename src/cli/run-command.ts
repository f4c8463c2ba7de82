import { globalFlags } from '../config/flags.ts';
import type { GlobalFlags } from '../config/settings.ts';
import { EXIT, type PartnerctlError, UsageError } from '../errors.ts';
import { shouldUseColor } from '../output/color.ts';
import type { CommandResult } from '../output/command-result.ts';
import { createProgress, progressSafeSink } from '../output/progress.ts';
import { createRedactor, redactingSink } from '../output/redact.ts';
import { OUTPUT_FORMATS, type OutputFormat, render } from '../output/render.ts';
import { isReaderGone } from '../output/stream-sink.ts';
import { createContext, type RuntimeDeps } from './create-context.ts';
import { lazyIo } from './io.ts';
import type { ParsedCommand } from './parse.ts';

/** A terminal that says it has no columns, as those without a window do: the spinner would clear lines without end. */
function hasWidth(terminal: NodeJS.WritableStream): boolean {
  return !('columns' in terminal) || terminal.columns !== 0;
}

/** @throws UsageError for a format that there is not */
function outputFormat(flags: GlobalFlags, { env, io }: RuntimeDeps): OutputFormat {
  const chosen = flags.output ?? (env.PARTNER_OUTPUT || (io.stdout.isTTY ? 'table' : 'tsv'));
  const format = OUTPUT_FORMATS.find((known) => known === chosen);
  if (format) return format;
  throw new UsageError(`There is no output format ${JSON.stringify(chosen)}.`, {
    hint: `PARTNER_OUTPUT takes one of ${OUTPUT_FORMATS.join(', ')}.`,
  });
}

function failureOf(answer: CommandResult): PartnerctlError | undefined {
  if (answer.kind === 'object') return answer.failure;
  return answer.kind === 'list' ? answer.failure?.() : undefined;
}

/**
 * Runs a command and writes its answer.
 * @param secrets what must not be written; the command adds to it what it learns
 * @returns the exit code
 * @throws whatever the command fails with
 */
export async function runCommand(
  line: ParsedCommand,
  surroundings: RuntimeDeps,
  secrets: Set<string>,
): Promise<number> {
  const { io: raw, env, clock, terminal } = surroundings;
  const flags = globalFlags(line.globals);
  const redactor = createRedactor(secrets);
  const progress = createProgress(terminal, {
    enabled: raw.stderr.isTTY && hasWidth(terminal) && !flags.quiet && !env.CI && env.TERM !== 'dumb',
    clock,
    redact: redactor.redact,
  });
  const stderr = redactingSink(progressSafeSink(raw.stderr, progress), redactor);
  const stdout = redactingSink(progressSafeSink(raw.stdout, progress), redactor);
  const addSecret = (secret: string): void => {
    secrets.add(secret);
    redactor.add(secret);
  };
  const context = createContext({ ...surroundings, io: lazyIo(() => raw.stdin, stdout, stderr) }, flags, {
    progress,
    addSecret,
    redact: redactor.redact,
  });
  try {
    const format = outputFormat(flags, surroundings);
    const act = line.command.prepare(line.args);
    if (flags.query !== undefined) await (await import('../output/query.ts')).checkQuery(flags.query);
    const answer = await act(context);
    const how = { format, query: flags.query, color: shouldUseColor(flags.color, env, raw.stdout), quiet: flags.quiet };
    try {
      await render(answer, how, { stdout, stderr, redact: redactor.redact });
    } catch (error) {
      // The reader has seen enough; how the work ended still decides the exit code.
      if (!isReaderGone(error)) throw error;
    }
    progress.stop();
    const failure = failureOf(answer);
    if (failure) throw failure;
    return answer.kind === 'none' ? (answer.exitCode ?? EXIT.ok) : EXIT.ok;
  } finally {
    await context.close();
  }
}
