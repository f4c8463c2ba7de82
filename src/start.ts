import pkg from '../package.json' with { type: 'json' };
import { createSignals, type Signals } from './cli/signals.ts';
import { EXIT } from './errors.ts';
import { main } from './main.ts';
import { flush, streamSink, waitForReader } from './output/sink.ts';
import { systemClock } from './platform/clock.ts';
import { lazyIo } from './platform/io.ts';

/** Opens standard input. Ignores read errors: if the terminal is gone, SIGHUP ends the process. */
function openStdin(): typeof process.stdin {
  const { stdin } = process;
  if (stdin.listenerCount('error') === 0) stdin.on('error', () => undefined);
  return stdin;
}

/**
 * Creates the function that exits. On exit, Node resets the terminal, and crashes if the terminal is gone. In that
 * case, ends the process by a signal instead, which a shell also reports as exit code 129.
 */
function createExit(): (code: number) => never {
  const { isatty } = process.getBuiltinModule('node:tty');
  const terminals = [0, 1, 2].filter((descriptor) => isatty(descriptor));
  return (code) => {
    if (!terminals.every((descriptor) => isatty(descriptor))) {
      process.removeAllListeners('SIGHUP');
      process.kill(process.pid, 'SIGHUP');
    }
    process.exit(code);
  };
}

async function run(argv: readonly string[], exit: (code: number) => never): Promise<number> {
  let signals: Signals | undefined;
  const code = await main(argv, {
    io: lazyIo(openStdin, {
      stdout: streamSink(process.stdout),
      stderr: streamSink(process.stderr),
      terminal: process.stderr,
    }),
    env: process.env,
    clock: systemClock,
    random: Math.random,
    get signals() {
      signals ??= createSignals(process, exit);
      return signals;
    },
    runtime: {
      version: pkg.version,
      nodeVersion: process.versions.node,
      platform: process.platform,
      get home() {
        // Loading node:os slows down start-up.
        return process.env.HOME || process.getBuiltinModule('node:os').homedir();
      },
      selfCommand: [process.execPath, ...process.argv.slice(1, 2)],
    },
  });
  // After a failure, an error follows the ^C that the terminal shows.
  if (code === EXIT.ok && signals?.interrupt.aborted && process.stderr.isTTY) process.stderr.write('\n');
  return code;
}

/** Prints the stack trace of a crash, but not the error message, which could contain a secret. */
function reportCrash(error: unknown): void {
  const name = error instanceof Error ? error.name : 'an unknown error';
  const frames = error instanceof Error ? (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line)) : [];
  process.stderr.write(`error: partnerctl crashed (${name}). This is a bug.\n${frames.join('\n')}\n`);
}

async function runProcess(): Promise<void> {
  // NO_COLOR wins. Where both are set, Node would say on stderr that it ignores NO_COLOR.
  if (process.env.NO_COLOR) delete process.env.FORCE_COLOR;
  const exit = createExit();
  process.on('uncaughtException', (error) => {
    reportCrash(error);
    exit(1);
  });
  // Node would exit with 0 if nothing is left to wait for, although there is no result.
  process.on('beforeExit', () => {
    reportCrash(new Error());
    exit(1);
  });
  const code = await run(process.argv.slice(2), exit);
  const written = Promise.all([flush(process.stdout), flush(process.stderr)]);
  // After a failure, its report was written last. Any output that is still unwritten has no reader.
  await waitForReader(written, code === 0 ? undefined : AbortSignal.abort());
  // Without an explicit exit, Node waits for idle sockets and for undici's parser to compile.
  exit(code);
}

void runProcess();
