import { LocalError, PartnerctlError, UsageError } from '../errors.ts';
import { errorMessage } from '../platform/error-code.ts';

const BUG = 'This is a bug. Run the command again with --debug and report what it prints.';

/**
 * Converts an error to its JSON form, for stderr and for the results of commands. Its details include `why`.
 * @param error any thrown value; an unexpected error gets the type `internal`
 * @param commandPath the failed command, such as `chat send`. A usage error without its own hint points to its help.
 */
export function toErrorObject(error: unknown, commandPath?: string) {
  const isExpected = error instanceof PartnerctlError;
  const { info } = isExpected ? error : new LocalError('', { hint: BUG });
  const isUsage = commandPath !== undefined && error instanceof UsageError;
  const help = isUsage ? `Run \`partnerctl ${commandPath} --help\` for its arguments and flags.` : null;
  const { details = null, why } = info;
  const isOpen = typeof details === 'object' && !Array.isArray(details);
  return {
    type: isExpected ? error.type : 'internal',
    message: errorMessage(error),
    status: info.status ?? null,
    code: info.code ?? null,
    request_id: info.requestId ?? null,
    hint: info.hint ?? help,
    retry_at: info.retryAt ?? null,
    details: why !== undefined && isOpen ? { ...details, why } : details,
  };
}
