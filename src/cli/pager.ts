import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { InterruptedError } from '../errors.ts';
import { streamSink } from '../output/stream-sink.ts';
import { countScreenLines } from '../output/width.ts';
import type { ClosableSink, Environment, Sink } from '../platform/io.ts';
import type { Signals, TerminationSignal } from './context.ts';
import { SIGNAL_EXIT_CODES } from './signals.ts';

const DEFAULT_PAGER = 'less';

/** A command with any of these needs a shell. */
const SHELL_CHARACTERS = /[|&;<>()$`"'\\*?[#~=%]/;

/** The exit codes of a shell that cannot run or find a command. */
const CANNOT_RUN = new Set([126, 127]);

/** The command of a pager. */
export interface PagerCommand {
  readonly file: string;
  readonly args: readonly string[];
  /** Whether it comes from PAGER. */
  readonly isChosen: boolean;
}

/** Returns the pager from PAGER, or `less` by default. @returns undefined if no pager may be used */
export function choosePager({ PAGER, CI, TERM }: Environment): PagerCommand | undefined {
  const command = (PAGER ?? DEFAULT_PAGER).trim();
  if (command === '' || command === 'cat' || CI || TERM === 'dumb') return undefined;
  const isChosen = PAGER !== undefined;
  if (SHELL_CHARACTERS.test(command)) return { file: 'sh', args: ['-c', command], isChosen };
  const [file = '', ...args] = command.split(/\s+/);
  return { file, args, isChosen };
}

export interface PagerDeps {
  readonly env: Environment;
  readonly signals: Signals;
  readonly warn: (text: string) => Promise<void>;
  /** Called before the pager takes the screen. */
  readonly onOpen: () => void;
}

/** Starts the pager. @returns undefined if it cannot be started */
async function startPager({ file, args, isChosen }: PagerCommand, { env, warn }: PagerDeps) {
  const { spawn } = await import('node:child_process');
  // Like git and gh: exit if the text fits on the screen, show colors, and leave the text on the screen afterwards.
  const defaults = { LESS: 'FRX', LV: '-c' };
  const child = spawn(file, args, { stdio: ['pipe', 'inherit', 'inherit'], env: { ...defaults, ...env } });
  try {
    await once(child, 'spawn');
    return child;
  } catch (error) {
    if (isChosen) {
      const why = error instanceof Error ? error.message : String(error);
      await warn(`The pager from PAGER cannot be started (${why}). Set another one in PAGER, or unset it.`);
    }
    return undefined;
  }
}

/** A running pager. */
class Pager {
  private readonly stdin: Sink;
  private readonly exited: Promise<number | null>;
  private readonly release: () => void;
  private readonly end: () => void;
  private received: TerminationSignal | undefined;

  constructor(child: ChildProcess & { readonly stdin: NodeJS.WritableStream }, signals: Signals) {
    this.stdin = streamSink(child.stdin);
    this.end = () => child.stdin.end();
    this.exited = new Promise((resolve) => child.once('exit', (code) => resolve(code)));
    this.release = signals.takeOver((signal) => {
      // The terminal also sends Ctrl-C to the pager, which handles it itself.
      if (signal === 'SIGINT') return;
      this.received = signal;
      child.kill(signal);
    });
  }

  /** @throws an error with code EPIPE if the user has left the pager */
  write(text: string): Promise<void> {
    return this.stdin.write(text);
  }

  /** Waits until the user leaves the pager. @returns its exit code @throws InterruptedError if a signal ended it */
  async close(): Promise<number | null> {
    this.end();
    const code = await this.exited;
    this.release();
    if (this.received) throw new InterruptedError('Interrupted.', SIGNAL_EXIT_CODES[this.received]);
    return code;
  }
}

/**
 * Creates a sink that starts a pager if the text is longer than the terminal, and otherwise writes to the terminal on `close`.
 * `close` waits until the user leaves the pager; call it even if a write fails.
 * @param rows the height of the terminal in lines
 */
export function createPagedSink(stdout: Sink, rows: number, command: PagerCommand, deps: PagerDeps): ClosableSink {
  let held = '';
  let lines = 0;
  let target: Pager | Sink | undefined;

  async function open(): Promise<Pager | Sink> {
    if (deps.signals.interrupt.aborted) return stdout;
    deps.onOpen();
    const child = await startPager(command, deps);
    return child ? new Pager(child, deps.signals) : stdout;
  }

  async function write(text: string): Promise<void> {
    if (target) return target.write(text);
    held += text;
    lines += countScreenLines(text, stdout.columns);
    if (lines < rows) return;
    target = await open();
    await target.write(held);
  }

  return {
    write,
    isTTY: stdout.isTTY,
    get columns() {
      return stdout.columns;
    },
    async close() {
      if (!target && held !== '') await stdout.write(held);
      if (!(target instanceof Pager)) return;
      const code = await target.close();
      if (code !== null && CANNOT_RUN.has(code)) {
        await deps.warn(`The pager from PAGER ended with exit code ${code}. Set another one in PAGER, or unset it.`);
      }
    },
  };
}
