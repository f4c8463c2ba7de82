import { constants } from 'node:os';
import { LocalError, UsageError } from '../errors.ts';
import type { Context } from './context.ts';
import type { Environment } from './io.ts';

function startFailure(file: string, error: Error): Error {
  const name = JSON.stringify(file);
  if ('code' in error && error.code === 'ENOENT') return new UsageError(`There is no command ${name} on the PATH.`);
  return new LocalError(`Cannot start ${name}.`, { why: error.message, cause: error });
}

/**
 * Runs a command with our own input and output until it ends, and passes our signals on to it.
 * @returns its exit code, or 128 plus the number of the signal that ended it, as in a shell
 * @throws UsageError when there is no such command, InterruptedError when a signal arrived before it was started
 */
export async function runChild(
  { io, signals }: Pick<Context, 'io' | 'signals'>,
  file: string,
  args: readonly string[],
  env: Environment,
): Promise<number> {
  const { spawn } = await import('node:child_process');
  // A signal during the preparations was meant for the command, too.
  signals.interrupt.throwIfAborted();
  const child = spawn(file, args, { stdio: 'inherit', env });
  const release = signals.takeOver((signal) => {
    // A terminal sends Ctrl-C to the child as well, and many commands take two as "quit at once".
    if (signal !== 'SIGINT' || io.stdin.isTTY !== true) child.kill(signal);
  });
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once('error', (error) => reject(startFailure(file, error)));
      child.once('exit', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)));
    });
  } finally {
    release();
  }
}
