import type { Context } from '../cli/context.ts';
import { EXIT, InterruptedError, type PartnerctlError, RunFailure, ServiceError, withHint } from '../errors.ts';
import type { EndEvent } from './follow-types.ts';

export const MORE_TIME = 'Allow more time with --timeout.';

/** The error to exit with when following ended; undefined for a normal end, such as Ctrl-C. */
export function findEndFailure(
  { reason, error, wasRead }: EndEvent,
  follow: boolean,
  { signals }: Pick<Context, 'signals'>,
): PartnerctlError | undefined {
  const { reason: signal } = signals.interrupt;
  if (reason === 'interrupted' && signal instanceof InterruptedError && signal.exitCode !== EXIT.interrupted)
    return signal;
  if (reason !== 'timeout' || (follow && wasRead)) return undefined;
  if (error) return withHint(error, { hint: `The time limit was reached. ${MORE_TIME}`, details: {} });
  const message = wasRead
    ? 'The time limit was reached before all messages were read.'
    : 'The service did not answer in time.';
  return new ServiceError(message, { hint: MORE_TIME });
}

/** Replaces the hint of a refusal with one about the message to read after, for which the service names its own parameter. */
export function hintAtMessage(failure: PartnerctlError, hint: string): PartnerctlError {
  const isRefusal = failure.type === 'refused' && (failure.info.status === 400 || failure.info.status === 422);
  return isRefusal ? new RunFailure(failure.message, failure, { hint }) : failure;
}
