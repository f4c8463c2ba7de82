import type { RuntimeDeps } from './cli/create-context.ts';
import { type Environment, lazyIo, type Sink, withWrite } from './cli/io.ts';
import { type ParsedCommand, parse } from './cli/parse.ts';
import { EXIT, exitCodeOf, InterruptedError, LocalError } from './errors.ts';
import { shouldUseColor } from './output/color.ts';
import { createRedactor, redactingSink } from './output/redact.ts';
import { isReaderGone } from './output/stream-sink.ts';

/** Whether argv asks for JSON, as far as can be told while its words may be wrong. */
function seemsJson(argv: readonly string[], env: Environment): boolean {
  const end = argv.indexOf('--');
  const own = end === -1 ? argv : argv.slice(0, end);
  const given = own.flatMap((word, index) => {
    if (/^(--output|-[qv]*o)$/.test(word)) return [own[index + 1] ?? ''];
    return /^(?:--output=|-[qv]*o)(\w+)$/.exec(word)?.slice(1) ?? [];
  });
  return /^(nd)?json$/.test(given.at(-1) ?? env.PARTNER_OUTPUT ?? '');
}

/** The sink with something else done where a write fails. */
function onFailure(sink: Sink, handle: (error: unknown) => void): Sink {
  return withWrite((text) => sink.write(text).catch(handle), sink);
}

/** A notice that nobody can read must not end the work that it is about. */
function forgiving(sink: Sink): Sink {
  return onFailure(sink, () => undefined);
}

/** An answer that cannot be written, because the disk is full for one, is a failure of this machine and no bug. */
function accountable(sink: Sink): Sink {
  return onFailure(sink, (error) => {
    if (isReaderGone(error)) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new LocalError('The answer cannot be written.', { why, cause: error });
  });
}

/** An error as the block that a person reads, or the JSON object for scripts. */
async function errorReport(
  error: unknown,
  argv: readonly string[],
  line: ParsedCommand | undefined,
  { env, io }: RuntimeDeps,
): Promise<string> {
  const { formatErrorJson: errorJson, formatError: errorText } = await import('./output/error-text.ts');
  if (seemsJson(argv, env)) return errorJson(error);
  return errorText(error, {
    color: shouldUseColor(line?.globals.value('color') ?? 'auto', env, io.stderr),
    debug: line?.globals.isSet('debug') ?? argv.includes('--debug'),
    command: line?.commandPath,
  });
}

/**
 * Runs one command line from its words to its exit code. This is the one place where an error becomes text and a code.
 * @param argv the arguments, without node and the script
 */
export async function main(argv: readonly string[], surroundings: RuntimeDeps): Promise<number> {
  const { io, env, version } = surroundings;
  const stdout = accountable(io.stdout);
  const stderr = forgiving(io.stderr);
  const secrets = new Set(env.PARTNER_TOKEN ? [env.PARTNER_TOKEN] : []);
  let line: ParsedCommand | undefined;
  try {
    const parsed = await parse(argv, { version, columns: io.stdout.columns });
    if (parsed.kind === 'text') {
      await stdout.write(parsed.text);
      return EXIT.ok;
    }
    if (parsed.kind === 'topic') {
      const { topicText } = await import('./cli/help-text.ts');
      await stdout.write(await topicText(parsed.topic, io.stdout, shouldUseColor('auto', env, io.stdout)));
      return EXIT.ok;
    }
    line = parsed;
    const { runCommand } = await import('./cli/run-command.ts');
    return await runCommand(line, { ...surroundings, io: lazyIo(() => io.stdin, stdout, stderr) }, secrets);
  } catch (error) {
    if (isReaderGone(error)) return EXIT.ok;
    await redactingSink(stderr, createRedactor(secrets)).write(await errorReport(error, argv, line, surroundings));
    // Looked at late: signals are not listened to before a command runs.
    const { reason } = surroundings.signals.interrupt;
    return exitCodeOf(error instanceof InterruptedError && reason instanceof InterruptedError ? reason : error);
  }
}
