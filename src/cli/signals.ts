import { EXIT, InterruptedError } from '../errors.ts';
import type { Signals, TerminationSignal } from './context.ts';

/** The part of `process` that delivers signals. */
export interface SignalSource {
  on(signal: TerminationSignal, listener: () => void): unknown;
  exit(code: number): never;
  /** Writes to stderr synchronously. */
  write(text: string): void;
}

/** The exit codes of a program that a signal ended. */
export const SIGNAL_EXIT_CODES = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated, SIGHUP: EXIT.hungUp } as const;

/**
 * Listens for Ctrl-C (SIGINT), SIGTERM, and SIGHUP (the terminal is gone). The first signal aborts `interrupt`; another Ctrl-C
 * or SIGTERM exits immediately. Ignores another SIGHUP, because the system and the shell each send one.
 */
export function createSignals(source: SignalSource): Signals {
  const controller = new AbortController();
  let owner: ((signal: TerminationSignal) => void) | undefined;
  let describeExit: (() => string | undefined) | undefined;

  function handle(signal: TerminationSignal): void {
    if (owner) {
      owner(signal);
      return;
    }
    const exitCode = SIGNAL_EXIT_CODES[signal];
    if (controller.signal.aborted) {
      if (signal === 'SIGHUP') return;
      const line = describeExit?.();
      if (line !== undefined) source.write(`${line}\n`);
      source.exit(exitCode);
    }
    controller.abort(new InterruptedError('Interrupted.', exitCode));
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
    beforeExit(describe) {
      describeExit = describe;
      return () => {
        describeExit = undefined;
      };
    },
  };
}
