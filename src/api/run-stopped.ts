import { isBalanceTooLow, isStateUnavailable, isTokenRejected, LocalError, type PartnerctlError } from '../errors.ts';

/** A call that waited for its turn was not made: it would have failed like an earlier one. */
export class RunStopped extends LocalError {
  constructor(cause: unknown) {
    super('It was not started, because an earlier request failed in a way that every further one would.', { cause });
  }
}

/** Whether every further call of a run would fail the same way: 401, 402, and a state that cannot be reached. */
export function stopsRun(error: unknown): error is PartnerctlError {
  return isBalanceTooLow(error) || isTokenRejected(error) || isStateUnavailable(error);
}
