import { spawnSync } from 'node:child_process';
import { setImmediate } from 'node:timers/promises';
import { countScreenLines } from '../output/wrap.ts';
import type { Environment, Sink } from '../platform/io.ts';
import type { Context } from './context.ts';

/** Whether a text is longer than the terminal, and PAGER does not turn paging off. */
function isPaged(text: string, { rows, columns }: Sink, { PAGER, CI, TERM }: Environment): boolean {
  if (rows === undefined || CI || TERM === 'dumb') return false;
  return !/^\s*(?:cat\s*)?$/.test(PAGER ?? 'less') && countScreenLines(text, columns) >= rows;
}

/**
 * Writes a complete text to a terminal. One that is longer than the terminal goes through the pager from PAGER, else
 * `less`, until the user leaves it.
 */
export async function writePaged(text: string, stdout: Sink, { env, signals }: Context): Promise<void> {
  if (signals.interrupt.aborted || !isPaged(text, stdout, env)) return stdout.write(text);
  // The pager handles Ctrl-C itself. Node delivers what arrived meanwhile in the next turn of its event loop.
  const release = signals.takeOver(() => undefined);
  const { status } = spawnSync(env.PAGER ?? 'less', {
    input: text,
    stdio: ['pipe', 'inherit', 'inherit'],
    // Like git: exit if the text fits on the screen, show colors, and leave the text on the screen afterwards.
    env: { LESS: 'FRX', ...env },
    shell: env.PAGER !== undefined,
  });
  await setImmediate();
  release();
  // A shell ends with 126 or 127 if it cannot run or find the command.
  if (status === null || status === 126 || status === 127) await stdout.write(text);
}
