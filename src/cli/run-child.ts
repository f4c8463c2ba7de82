import { constants } from 'node:os';
import { LocalError, UsageError } from '../errors.ts';
import type { Context } from './context.ts';
import type { Environment } from './io.ts';

function startFailure(file: string, error: Error): Error {
  const missing = 'code' in error && error.code === 'ENOENT';
  if (missing) return new UsageError(`There is no command ${JSON.stringify(file)} on the PATH.`);
  return new LocalError(`${JSON.stringify(file)} cannot be started.`, { why: error.message, cause: error });
}

/**
 * Runs a command with our own input and output until it ends. Signals to us are for it.
 * @returns its exit code, or 128 and the number of the signal that ended it, as shells have it
 * @throws UsageError when there is no such command, InterruptedError when a signal came before it was started
 */
export async function runChild(
  { io, signals }: Pick<Context, 'io' | 'signals'>,
  file: string,
  args: readonly string[],
  env: Environment,
): Promise<number> {
  const { spawn } = await import('node:child_process');
  // A signal that came while things were made ready was for the command, too.
  signals.interrupt.throwIfAborted();
  const child = spawn(file, args, { stdio: 'inherit', env });
  const giveBack = signals.takeOver((signal) => {
    // A terminal sends Ctrl-C to the child as well; twice would mean "leave at once".
    if (signal !== 'SIGINT' || io.stdin.isTTY !== true) child.kill(signal);
  });
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once('error', (error) => reject(startFailure(file, error)));
      child.once('exit', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)));
    });
  } finally {
    giveBack();
  }
}
