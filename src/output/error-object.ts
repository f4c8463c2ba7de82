import { type ErrorInfo, PartnerctlError, UsageError } from '../errors.ts';
import { errorMessage } from '../platform/error-code.ts';

/** The JSON form of an error. */
export interface ErrorObject {
  type: string;
  message: string;
  status: number | null;
  code: string | null;
  request_id: string | null;
  hint: string | null;
  retry_at: string | null;
  details: unknown;
}

/** Adds `why` to the details, so that scripts get it too. */
function detailsOf({ details, why }: ErrorInfo): unknown {
  if (why === undefined) return details ?? null;
  if (typeof details === 'object' && details !== null && !Array.isArray(details)) return { ...details, why };
  return details ?? { why };
}

function hintFor(error: PartnerctlError, commandPath: string | undefined): string | null {
  if (error.info.hint !== undefined) return error.info.hint;
  if (commandPath === undefined || !(error instanceof UsageError)) return null;
  return `Run \`partnerctl ${commandPath} --help\` for its arguments and flags.`;
}

/**
 * Converts an error to its JSON form, for stderr and for the results of commands.
 * @param error any thrown value; an unexpected error gets the type `internal`
 * @param commandPath the failed command, such as `chat send`. A usage error without its own hint points to its help.
 */
export function toErrorObject(error: unknown, commandPath?: string): ErrorObject {
  if (!(error instanceof PartnerctlError)) {
    return {
      type: 'internal',
      message: errorMessage(error),
      status: null,
      code: null,
      request_id: null,
      hint: 'This is a bug. Run the command again with --debug and report what it prints.',
      retry_at: null,
      details: null,
    };
  }
  const { info } = error;
  return {
    type: error.type,
    message: error.message,
    status: info.status ?? null,
    code: info.code ?? null,
    request_id: info.requestId ?? null,
    hint: hintFor(error, commandPath),
    retry_at: info.retryAt ?? null,
    details: detailsOf(info),
  };
}
