import { constants } from 'node:os';
import { describeFileError, UsageError } from '../errors.ts';
import type { Environment } from '../platform/io.ts';
import type { Context } from './context.ts';

/**
 * Runs a child process that shares our stdin, stdout, and stderr. Forwards our signals to it, and ends it at --timeout.
 * @returns its exit code, or 128 plus the number of the signal that ended it, as in a shell
 * @throws UsageError if the command cannot be started; LocalError at --timeout; InterruptedError
 */
export async function runChild(
  { io, signals, abortSignal }: Pick<Context, 'io' | 'signals' | 'abortSignal'>,
  file: string,
  args: readonly string[],
  env: Environment,
): Promise<number> {
  const { spawn } = await import('node:child_process');
  const child = spawn(file, args, { stdio: 'inherit', env, signal: abortSignal });
  const release = signals.takeOver((signal) => {
    // The terminal also sends Ctrl-C to the child. Many programs treat a second one as "quit immediately".
    if (signal !== 'SIGINT' || io.stdin.isTTY !== true) child.kill(signal);
  });
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)));
    });
  } catch (error) {
    abortSignal.throwIfAborted();
    throw new UsageError(`Cannot start ${JSON.stringify(file)}.`, { why: describeFileError(error), cause: error });
  } finally {
    release();
  }
}
