import type { Context } from '../cli/context.ts';
import { EXIT, InterruptedError, type PartnerctlError, ServiceError, withHint } from '../errors.ts';
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
