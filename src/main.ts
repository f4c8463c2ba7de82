import type { RuntimeDeps } from './cli/create-context.ts';
import { type ParsedCommand, parse, typedOutputFormat } from './cli/parse.ts';
import type { CommandRun } from './cli/run-command.ts';
import { EXIT, exitCodeOf, InterruptedError } from './errors.ts';
import { escapeWorkflowCommands, isGitHubActions } from './output/ci/workflow-commands.ts';
import { shouldUseColor } from './output/color.ts';
import { createRedactor } from './output/redact.ts';
import { isReaderGone, outputSink, waitForReader } from './output/sink.ts';
import type { Environment, Io } from './platform/io.ts';

/** Whether the last --output in argv, else PARTNER_OUTPUT, is a JSON format. Also works for invalid arguments. */
function wantsJson(argv: readonly string[], env: Environment): boolean {
  return /^(nd)?json$/.test(typedOutputFormat(argv) ?? env.PARTNER_OUTPUT ?? '');
}

/** Formats an error as text for people or as a JSON object for scripts. */
async function errorReport(
  error: unknown,
  argv: readonly string[],
  parsed: ParsedCommand | undefined,
  { env, io }: RuntimeDeps,
): Promise<string> {
  const { formatError, formatErrorJson } = await import('./output/error-text.ts');
  if (wantsJson(argv, env)) return formatErrorJson(error, parsed?.commandPath);
  const text = await formatError(error, {
    color: shouldUseColor(parsed?.globals.value('color') ?? 'auto', env, io.stderr),
    debug: parsed?.globals.isSet('debug') ?? argv.includes('--debug'),
    commandPath: parsed?.commandPath,
    columns: io.stderr.isTTY ? io.stderr.columns : undefined,
  });
  return isGitHubActions(env) ? escapeWorkflowCommands(text) : text;
}

/** Writes a topic of help, in a terminal through the pager if it is long. */
async function writeTopic(
  text: string,
  argv: readonly string[],
  { stdout, stderr }: Pick<Io, 'stdout' | 'stderr'>,
  deps: RuntimeDeps,
): Promise<void> {
  if (!stdout.isTTY || argv.includes('--no-input')) return stdout.write(text);
  const { writePaged } = await import('./cli/pager.ts');
  const warn = (warning: string) => stderr.write(`warning: ${warning}\n`);
  await writePaged(text, stdout, { env: deps.env, signals: deps.signals, warn });
}

/**
 * Runs one command line. Only this function converts an error to text and an exit code.
 * @param argv the arguments, without node and the script
 * @returns the exit code
 */
export async function main(argv: readonly string[], deps: RuntimeDeps): Promise<number> {
  const { io, env, version } = deps;
  const stdout = outputSink(io.stdout);
  const stderr = outputSink(io.stderr, { isOptional: true });
  const run: CommandRun = { secrets: new Set(env.PARTNER_TOKEN ? [env.PARTNER_TOKEN] : []) };
  let command: ParsedCommand | undefined;
  try {
    const parsed = await parse(argv, { version, columns: io.stdout.columns });
    if (parsed.kind === 'text') {
      await stdout.write(parsed.text);
      return EXIT.ok;
    }
    if (parsed.kind === 'topic') {
      const { formatTopic } = await import('./cli/help-text.ts');
      const text = await formatTopic(parsed.topic, io.stdout, shouldUseColor('auto', env, io.stdout));
      await writeTopic(text, argv, { stdout, stderr }, deps);
      return EXIT.ok;
    }
    command = parsed;
    const { runCommand } = await import('./cli/run-command.ts');
    return await runCommand(command, deps, run);
  } catch (error) {
    if (isReaderGone(error)) return EXIT.ok;
    const report = createRedactor(run.secrets).redact(await errorReport(error, argv, command, deps));
    await waitForReader(stderr.write(report), run.abortSignal);
    // Do not read `signals` earlier: the getter starts listening for signals.
    const { reason } = deps.signals.interrupt;
    return exitCodeOf(error instanceof InterruptedError && reason instanceof InterruptedError ? reason : error);
  }
}
