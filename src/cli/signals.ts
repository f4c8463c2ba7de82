import { EXIT, InterruptedError } from '../errors.ts';
import type { Signals, TerminationSignal } from './context.ts';

/** The part of `process` that signals come from. */
export interface SignalSource {
  on(signal: TerminationSignal, listener: () => void): unknown;
  exit(code: number): never;
}

/** The exit code that a signal ends a command with. */
function exitCodeForSignal(signal: TerminationSignal): 130 | 143 {
  return signal === 'SIGINT' ? EXIT.interrupted : EXIT.terminated;
}

/** The first signal asks the command to end; a second one leaves at once. */
export function createSignals(source: SignalSource): Signals {
  const control = new AbortController();
  let owner: ((signal: TerminationSignal) => void) | undefined;

  function received(signal: TerminationSignal): void {
    if (owner) {
      owner(signal);
      return;
    }
    if (control.signal.aborted) source.exit(exitCodeForSignal(signal));
    control.abort(new InterruptedError('Interrupted.', exitCodeForSignal(signal)));
  }
  source.on('SIGINT', () => received('SIGINT'));
  source.on('SIGTERM', () => received('SIGTERM'));

  return {
    interrupt: control.signal,
    takeOver(listener) {
      owner = listener;
      return () => {
        owner = undefined;
      };
    },
  };
}
