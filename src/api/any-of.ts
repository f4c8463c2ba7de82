export interface AnyOf {
  readonly signal: AbortSignal;
  release(): void;
}

/**
 * A signal that is aborted with the first of those given. `AbortSignal.any` would keep a follower to the long-lived
 * signal of the process for every call it makes; this one lets go when it is released.
 */
export function anyOf(...signals: readonly (AbortSignal | undefined)[]): AnyOf {
  const control = new AbortController();
  const given = signals.filter((signal) => signal !== undefined);
  const abort = (event: Event): void => {
    if (event.target instanceof AbortSignal) control.abort(event.target.reason);
  };
  for (const signal of given) {
    if (signal.aborted) control.abort(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
  }
  return {
    signal: control.signal,
    release() {
      for (const signal of given) signal.removeEventListener('abort', abort);
    },
  };
}
