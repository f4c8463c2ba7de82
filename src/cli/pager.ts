import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { InterruptedError } from '../errors.ts';
import { countScreenLines } from '../output/wrap.ts';
import type { Environment, Sink } from '../platform/io.ts';
import { SIGNAL_EXIT_CODES, type Signals, type TerminationSignal } from './signals.ts';

interface PagerDeps {
  readonly env: Environment;
  readonly signals: Signals;
}

/** Whether a text for a terminal goes through the pager: it is longer than the terminal, and PAGER does not turn it off. */
function isPaged(text: string, { rows, columns }: Sink, { PAGER, CI, TERM }: Environment): boolean {
  if (rows === undefined || CI || TERM === 'dumb') return false;
  return !/^\s*(?:cat\s*)?$/.test(PAGER ?? 'less') && countScreenLines(text, columns) >= rows;
}

/**
 * Shows a text in the pager from PAGER, else in `less`, until the user leaves it.
 * @returns whether the pager could run
 * @throws InterruptedError if a signal ended it
 */
async function showInPager(text: string, { env, signals }: PagerDeps): Promise<boolean> {
  // Like git: exit if the text fits on the screen, show colors, and leave the text on the screen afterwards.
  const child = spawn(env.PAGER ?? 'less', {
    stdio: ['pipe', 'inherit', 'inherit'],
    env: { LESS: 'FRX', LV: '-c', ...env },
    shell: env.PAGER !== undefined,
  });
  let received: TerminationSignal | undefined;
  const release = signals.takeOver((signal) => {
    // The terminal also sends Ctrl-C to the pager, which handles it itself.
    if (signal === 'SIGINT') return;
    received = signal;
    child.kill(signal);
  });
  // The user may leave the pager before it has read everything.
  child.stdin.on('error', () => undefined).end(text);
  const [code] = await once(child, 'exit').catch(() => [127]);
  release();
  if (received) throw new InterruptedError('Interrupted.', SIGNAL_EXIT_CODES[received]);
  // A shell ends with these if it cannot run or find the command.
  return code !== 126 && code !== 127;
}

/** Writes a complete text to a terminal, through the pager if it is longer than the terminal and PAGER does not turn it off. */
export async function writePaged(text: string, stdout: Sink, deps: PagerDeps): Promise<void> {
  const isDirect = deps.signals.interrupt.aborted || !isPaged(text, stdout, deps.env);
  if (isDirect || !(await showInPager(text, deps))) await stdout.write(text);
}
