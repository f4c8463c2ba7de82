import { spawn } from 'node:child_process';
import { fstat } from 'node:fs';
import { promisify } from 'node:util';
import type { Environment } from '../cli/io.ts';

/**
 * Tells when the reader of a pipe is gone although nothing is written to it. Node cannot ask the system that; `tail -f`
 * of the GNU tools does, once a second, and then dies of SIGPIPE. It is given nothing to write, and ends with this
 * process. Where there is no such `tail`, or no pipe, nothing is ever told, and it shows at the next write.
 * @param fd the pipe's descriptor
 * @returns what ends the watch
 */
export async function watchReader(
  { fd, pid, env }: { readonly fd: number; readonly pid: number; readonly env: Environment },
  onGone: () => void,
): Promise<() => void> {
  const stat = await promisify(fstat)(fd).catch(() => undefined);
  if (!stat?.isFIFO()) return () => undefined;
  const words = ['-f', '--sleep-interval=1', `--pid=${pid}`, '/dev/null'];
  // It is to see none of the secrets that the environment may hold.
  const child = spawn('tail', words, { stdio: ['ignore', fd, 'ignore'], env: { PATH: env.PATH } });
  child.on('error', () => undefined);
  child.on('exit', (_code, signal) => {
    if (signal === 'SIGPIPE') onGone();
  });
  child.unref();
  return () => void child.kill('SIGKILL');
}
