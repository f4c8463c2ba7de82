import { RejectedLine } from './cli/command.ts';
import type { RuntimeDeps } from './cli/context.ts';
import { type CommandTree, createCommandTree } from './cli/program.ts';
import type { CommandRun } from './cli/run.ts';
import { allCommands } from './commands/all.ts';
import { EXIT, exitCodeOf, InterruptedError } from './errors.ts';
import { shouldUseColor } from './output/color.ts';
import { FORMATS, findFormat } from './output/command-result.ts';
import { formatError, formatErrorJson } from './output/error-text.ts';
import { isReaderGone, outputSink, waitForReader } from './output/sink.ts';
import { layoutWidth } from './platform/io.ts';

async function errorReport(error: unknown, tree: CommandTree, { env, io }: RuntimeDeps): Promise<string> {
  const { escapeWorkflowCommands, isGitHubActions } = await import('./cli/ci/annotations.ts');
  const { output = env.PARTNER_OUTPUT, color, debug } = tree.globals();
  const commandPath = tree.commandPath();
  const format = findFormat(output);
  if (format && FORMATS[format].hasJsonErrors) return formatErrorJson(error, commandPath);
  const text = await formatError(error, {
    color: shouldUseColor(color, env, io.stderr),
    debug,
    commandPath,
    width: layoutWidth(io.stderr),
  });
  return isGitHubActions(env) ? escapeWorkflowCommands(text) : text;
}

/**
 * Runs one command line. Only this function converts an error to text and an exit code.
 * @param argv the arguments, without node and the script
 * @returns the exit code
 */
export async function main(argv: readonly string[], deps: RuntimeDeps): Promise<number> {
  const { io, env, runtime } = deps;
  const stdout = outputSink(io.stdout);
  const stderr = outputSink(io.stderr, { isOptional: true });
  let run: CommandRun | undefined;
  const startRun = async (): Promise<CommandRun> => {
    const { createRedactor } = await import('./output/redact.ts');
    return { redactor: createRedactor(env.PARTNER_TOKEN ? [env.PARTNER_TOKEN] : []) };
  };
  let printed = '';
  const print = (text: string): void => {
    printed += text;
  };
  const tree = createCommandTree(allCommands(), runtime.version, io.stdout.columns, print);
  try {
    const invocation = tree.parse(argv);
    if (invocation) {
      // Help and --version need neither a service nor a format.
      const { runCommand } = await import('./cli/run.ts');
      run = await startRun();
      return await runCommand(invocation, tree.globals(), deps, run);
    }
    await stdout.write(printed);
    return EXIT.ok;
  } catch (thrown) {
    if (isReaderGone(thrown)) return EXIT.ok;
    const isRejected = thrown instanceof RejectedLine;
    const error = isRejected ? (await import('./cli/usage-error.ts')).toUsageError(thrown) : thrown;
    const { redactor, abortSignal } = run ?? (await startRun());
    const report = redactor.redact(await errorReport(error, tree, deps));
    await waitForReader(stderr.write(report), abortSignal);
    // Do not read `signals` earlier: the getter starts listening for signals.
    const { reason } = deps.signals.interrupt;
    return exitCodeOf(error instanceof InterruptedError && reason instanceof InterruptedError ? reason : error);
  }
}
