import { globalFlags } from './config/flags.ts';
import type { GlobalFlags } from './config/settings.ts';
import { createContext, type Surroundings } from './create-context.ts';
import { EXIT, exitCodeOf, InterruptedError, UsageError } from './errors.ts';
import type { Environment, Io, Sink } from './io.ts';
import { OUTPUT_FORMATS, type OutputFormat } from './output/format-names.ts';
import { besideProgress, createProgress } from './output/progress.ts';
import { createRedactor, type Redactor, redactingSink } from './output/redact.ts';

import type { Parsed } from './program.ts';

type CommandLine = Extract<Parsed, { kind: 'command' }>;

function wantsColor(choice: string, env: Environment, sink: Sink): boolean {
  if (choice !== 'auto') return choice === 'always';
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR !== undefined) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false';
  return sink.isTTY && env.TERM !== 'dumb';
}

/** @throws UsageError for a format that there is not */
function outputFormat(flags: GlobalFlags, { env, io }: Surroundings): OutputFormat {
  const chosen = flags.output ?? (env.PARTNER_OUTPUT || (io.stdout.isTTY ? 'table' : 'tsv'));
  const format = OUTPUT_FORMATS.find((known) => known === chosen);
  if (format) return format;
  throw new UsageError(`There is no output format ${JSON.stringify(chosen)}.`, {
    hint: `PARTNER_OUTPUT takes one of ${OUTPUT_FORMATS.join(', ')}.`,
  });
}

/** Whether argv asks for JSON, as far as can be told while its words may be wrong. */
function seemsJson(argv: readonly string[], env: Environment): boolean {
  const end = argv.indexOf('--');
  const own = end === -1 ? argv : argv.slice(0, end);
  const given = own.flatMap((word, index) => {
    if (word === '-o' || word === '--output') return [own[index + 1] ?? ''];
    return /^(?:--output=|-o=?)(\w+)$/.exec(word)?.slice(1) ?? [];
  });
  return /^(nd)?json$/.test(given.at(-1) ?? env.PARTNER_OUTPUT ?? '');
}

/** Only the sinks fail with a bare EPIPE; one of the network is a part of a ServiceError. */
function isReaderGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE';
}

/** A notice that nobody can read must not end the work that it is about. */
function forgiving(sink: Sink): Sink {
  return {
    write: (text) => sink.write(text).catch(() => undefined),
    get isTTY() {
      return sink.isTTY;
    },
    get columns() {
      return sink.columns;
    },
  };
}

/** The same surroundings with other sinks; stdin is looked at only when it is needed. */
function withSinks(io: Io, stdout: Sink, stderr: Sink): Io {
  return {
    get stdin() {
      return io.stdin;
    },
    stdout,
    stderr,
  };
}

/** Runs a command and writes its answer. Returns the exit code. */
async function runCommand(
  line: CommandLine,
  flags: GlobalFlags,
  surroundings: Surroundings,
  redactor: Redactor,
): Promise<number> {
  const { io: raw, env, clock, terminal } = surroundings;
  const progress = createProgress(terminal, {
    enabled: raw.stderr.isTTY && !flags.quiet && !env.CI && env.TERM !== 'dumb',
    clock,
    redact: redactor.redact,
  });
  const stderr = redactingSink(besideProgress(raw.stderr, progress), redactor);
  const stdout = redactingSink(besideProgress(raw.stdout, progress), redactor);
  const parts = { progress, keepSecret: redactor.add };
  const context = createContext({ ...surroundings, io: withSinks(raw, stdout, stderr) }, flags, parts);
  try {
    const format = outputFormat(flags, surroundings);
    const act = line.command.prepare(line.given);
    if (flags.query !== undefined) await (await import('./output/query.ts')).checkQuery(flags.query);
    const answer = await act(context);
    const { render } = await import('./output/render.ts');
    const how = { format, query: flags.query, color: wantsColor(flags.color, env, raw.stdout), quiet: flags.quiet };
    try {
      await render(answer, how, { stdout, stderr, redact: redactor.redact });
    } catch (error) {
      if (!isReaderGone(error)) throw error;
    }
    progress.stop();
    const failure = answer.kind === 'list' ? answer.failure?.() : undefined;
    if (failure) throw failure;
    return answer.kind === 'none' ? (answer.exitCode ?? EXIT.ok) : EXIT.ok;
  } finally {
    await context.close();
  }
}

/**
 * Runs one command line from its words to its exit code. This is the one place where an error becomes text and a code.
 * @param argv the arguments, without node and the script
 */
export async function main(argv: readonly string[], surroundings: Surroundings): Promise<number> {
  const { io, env, signals, version } = surroundings;
  const stderr = forgiving(io.stderr);
  const redactor = createRedactor(env.PARTNER_TOKEN ? [env.PARTNER_TOKEN] : []);
  let line: CommandLine | undefined;
  let flags: GlobalFlags | undefined;
  try {
    const { parse } = await import('./program.ts');
    const parsed = await parse(argv, version);
    if (parsed.kind === 'text') {
      await io.stdout.write(parsed.text);
      return EXIT.ok;
    }
    line = parsed;
    flags = globalFlags(line.globals);
    return await runCommand(line, flags, { ...surroundings, io: withSinks(io, io.stdout, stderr) }, redactor);
  } catch (error) {
    if (isReaderGone(error)) return EXIT.ok;
    const { errorJson, errorText } = await import('./output/error-text.ts');
    const text = seemsJson(argv, env)
      ? errorJson(error)
      : await errorText(error, {
          color: wantsColor(flags?.color ?? 'auto', env, io.stderr),
          debug: flags?.debug ?? argv.includes('--debug'),
          command: line?.words,
        });
    await redactingSink(stderr, redactor).write(text);
    const { reason } = signals.interrupt;
    return exitCodeOf(error instanceof InterruptedError && reason instanceof InterruptedError ? reason : error);
  }
}
