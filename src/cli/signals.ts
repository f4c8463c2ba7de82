import { EXIT, InterruptedError } from '../errors.ts';
import type { Signals, TerminationSignal } from './context.ts';

/** The part of `process` that delivers signals. */
export interface SignalSource {
  on(signal: TerminationSignal, listener: () => void): unknown;
  exit(code: number): never;
}

/** Listens for Ctrl-C and SIGTERM: the first signal aborts `interrupt`, the second one exits immediately. */
export function createSignals(source: SignalSource): Signals {
  const controller = new AbortController();
  let owner: ((signal: TerminationSignal) => void) | undefined;

  function handle(signal: TerminationSignal): void {
    if (owner) {
      owner(signal);
      return;
    }
    const exitCode = signal === 'SIGINT' ? EXIT.interrupted : EXIT.terminated;
    if (controller.signal.aborted) source.exit(exitCode);
    controller.abort(new InterruptedError('Interrupted.', exitCode));
  }
  source.on('SIGINT', () => handle('SIGINT'));
  source.on('SIGTERM', () => handle('SIGTERM'));

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
