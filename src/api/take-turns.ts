import pLimit from 'p-limit';
import { LocalError } from '../errors.ts';

/** A call that waited for its turn was not made: it would have failed like an earlier one. */
export class RunStopped extends LocalError {
  constructor(cause: unknown) {
    super('It was not started, because an earlier request failed in a way that every further one would.', { cause });
  }
}

/** Runs a call when its turn comes. */
export type InTurn = <Value>(call: () => Promise<Value>) => Promise<Value>;

/**
 * Returns a function that runs calls, so many at once. After a failure that every further call would have, too, those that
 * wait fail with `RunStopped`.
 * @param stopsRun whether an error is such a failure
 */
export function takeTurns(concurrency: number, stopsRun: (error: unknown) => boolean): InTurn {
  const limit = pLimit(concurrency);
  let stopped: { readonly error: unknown } | undefined;
  return (call) =>
    limit(async () => {
      if (stopped) throw new RunStopped(stopped.error);
      try {
        return await call();
      } catch (error) {
        if (stopsRun(error)) stopped = { error };
        throw error;
      }
    });
}
