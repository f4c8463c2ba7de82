import { type ErrorInfo, PartnerctlError } from '../errors.ts';

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

/**
 * Converts an error to its JSON form, for stderr and for the results of commands.
 * @param error any thrown value; an unexpected error gets the type `internal`
 */
export function toErrorObject(error: unknown): ErrorObject {
  if (!(error instanceof PartnerctlError)) {
    return {
      type: 'internal',
      message: error instanceof Error ? error.message : String(error),
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
    hint: info.hint ?? null,
    retry_at: info.retryAt ?? null,
    details: detailsOf(info),
  };
}
