import { readFileSync } from 'node:fs';
import pkg from '../../package.json' with { type: 'json' };
import { systemClock } from '../clock.ts';
import { flush, streamSink } from '../output/stream-sink.ts';
import type { Signals } from './context.ts';
import { lazyIo } from './io.ts';
import { createSignals } from './signals.ts';

/** Where there is no terminal, and in most new ones. */
const HELP_COLUMNS = 80;

/** What the build wrote down of the help, for the width in which it is asked for nearly always. */
function writtenHelp(): string | undefined {
  try {
    return readFileSync(new URL('help.txt', import.meta.url), 'utf8');
  } catch {
    return undefined;
  }
}

/** Answers the two questions that every shell prompt and package asks, before anything is loaded. */
function answerAtOnce(argv: readonly string[], columns: number): string | undefined {
  if (argv.length !== 1) return undefined;
  if (argv[0] === '--version') return `${pkg.version}\n`;
  return argv[0] === '--help' && columns === HELP_COLUMNS ? writtenHelp() : undefined;
}

async function run(argv: readonly string[]): Promise<number> {
  const stdout = streamSink(process.stdout);
  const known = answerAtOnce(argv, stdout.columns);
  if (known !== undefined) {
    // A reader that is gone has seen enough.
    await stdout.write(known).catch(() => undefined);
    return 0;
  }
  const { main } = await import('../main.ts');
  let signals: Signals | undefined;
  return main(argv, {
    io: lazyIo(() => process.stdin, stdout, streamSink(process.stderr)),
    env: process.env,
    clock: systemClock,
    random: Math.random,
    get signals() {
      signals ??= createSignals(process);
      return signals;
    },
    platform: process.platform,
    get home() {
      // The module is loaded only where the environment does not say it.
      return process.env.HOME || process.getBuiltinModule('node:os').homedir();
    },
    version: pkg.version,
    nodeVersion: process.versions.node,
    selfCommand: [process.execPath, ...process.argv.slice(1, 2)],
    terminal: process.stderr,
  });
}

/** A crash names the places in the code and nothing else: a message could hold a secret. */
function reportCrash(error: unknown): never {
  const name = error instanceof Error ? error.name : 'an unknown error';
  const frames = error instanceof Error ? (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line)) : [];
  process.stderr.write(`error: partnerctl crashed (${name}). This is a bug.\n${frames.join('\n')}\n`);
  process.exit(1);
}

/** Runs the program in this process and ends it once everything written is out. */
export async function runProcess(): Promise<void> {
  process.on('uncaughtException', reportCrash);
  const code = await run(process.argv.slice(2));
  await Promise.all([flush(process.stdout), flush(process.stderr)]);
  // Left to itself, the process waits for idle sockets and for background compilation of undici's parser.
  process.exit(code);
}
