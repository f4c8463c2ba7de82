import pLimit from 'p-limit';
import { isBalanceTooLow, isStateUnavailable, isTokenRejected, LocalError, type PartnerctlError } from '../errors.ts';

/** A call that waited for its turn was not made: it would have failed like an earlier one. */
export class RunStopped extends LocalError {
  constructor(cause: unknown) {
    super('It was not started, because an earlier request failed in a way that every further one would.', { cause });
  }
}

/** Returns why a run was stopped, for the error of a call that was not made for that reason; any other error unchanged. */
export function reasonOfStop(error: unknown): unknown {
  return error instanceof RunStopped ? error.cause : error;
}

/** Whether every further call of a run would fail the same way: 401, 402, and a state that cannot be reached. */
export function stopsRun(error: unknown): error is PartnerctlError {
  return isBalanceTooLow(error) || isTokenRejected(error) || isStateUnavailable(error);
}

/** Runs a call when its turn comes. */
export type InTurn = <Value>(call: () => Promise<Value>) => Promise<Value>;

export interface Turns {
  readonly inTurn: InTurn;
  /** Whether the calls that wait fail with `RunStopped`. */
  readonly isStopped: () => boolean;
}

/**
 * Runs calls in turn, so many at once. After a failure that every further call would have, too, those that
 * wait fail with `RunStopped`.
 * @param stops whether an error is such a failure, such as `stopsRun`
 */
export function takeTurns(concurrency: number, stops: (error: unknown) => boolean): Turns {
  const limit = pLimit(concurrency);
  let stopped: { readonly error: unknown } | undefined;
  return {
    isStopped: () => stopped !== undefined,
    inTurn: (call) =>
      limit(async () => {
        if (stopped) throw new RunStopped(stopped.error);
        try {
          return await call();
        } catch (error) {
          if (stops(error)) stopped = { error };
          throw error;
        }
      }),
  };
}
