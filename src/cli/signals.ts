import { EXIT, InterruptedError } from '../errors.ts';

const SIGNAL_EXIT_CODES = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated, SIGHUP: EXIT.hungUp } as const;

type TerminationSignal = keyof typeof SIGNAL_EXIT_CODES;

export interface Signals {
  /** Aborts on the first termination signal, with an InterruptedError. */
  readonly interrupt: AbortSignal;
  /** Redirects signals to `listener`, such as to a child process. @returns a function that ends the redirection */
  takeOver(listener: (signal: TerminationSignal) => void): () => void;
}

/**
 * Listens for Ctrl-C (SIGINT), SIGTERM, and SIGHUP (the terminal is gone). The first signal aborts `interrupt`; another
 * Ctrl-C or SIGTERM exits immediately. Ignores another SIGHUP, because the system and the shell each send one.
 */
export function createSignals(source: Pick<NodeJS.Process, 'on'>, exit: (code: number) => never): Signals {
  const controller = new AbortController();
  let owner: ((signal: TerminationSignal) => void) | undefined;

  function handle(signal: TerminationSignal): void {
    const exitCode = SIGNAL_EXIT_CODES[signal];
    if (owner) owner(signal);
    else if (!controller.signal.aborted) controller.abort(new InterruptedError('Interrupted.', exitCode));
    else if (signal !== 'SIGHUP') exit(exitCode);
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) source.on(signal, () => handle(signal));

  return {
    interrupt: controller.signal,
    takeOver(listener) {
      owner = listener;
      return () => {
        owner = undefined;
      };
    },
  };
}
