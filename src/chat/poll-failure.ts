import { missingIn404 } from '../api/history.ts';
import {
  BalanceError,
  CredentialsError,
  NotFoundError,
  NotJsonError,
  type PartnerctlError,
  RateLimitError,
  ServiceError,
} from '../errors.ts';
import { shellQuote } from '../platform/shell-quote.ts';

/** Where a session was when a poll failed. */
export interface PolledSession {
  /** Whether its history was ever read. */
  readonly wasRead: boolean;
  /** Whether the request named a message to read after. */
  readonly hasCursor: boolean;
  /** Whether the history may lack the message to start after. */
  readonly mayLag: boolean;
  /** Whether only what exists is read. */
  readonly once: boolean;
  /** The address of the service. */
  readonly baseUrl: string;
}

/** Whether polling on is pointless: always for a token or a balance; for most of what the service says before a first page. */
function isFatal(error: PartnerctlError, wasRead: boolean): boolean {
  if (error instanceof CredentialsError || error instanceof BalanceError) return true;
  const isPassing = error instanceof RateLimitError || error instanceof NotJsonError || error.info.fromGateway;
  if (wasRead || isPassing) return false;
  return !(error instanceof ServiceError) || error.info.permanent === true;
}

/** The error for a 404 that does not say that the session was not found. */
function noHistoryError(error: PartnerctlError, baseUrl: string): NotFoundError {
  return new NotFoundError('The service has no history of this session, or reads histories in another way (404).', {
    ...error.info,
    hint: [
      `If the session has messages, say how a history is read: partnerctl contract import ${shellQuote(baseUrl)}`,
      "Or: partnerctl contract set messages.history '<METHOD> <path>', such as GET /sessions/{session_id}/messages/",
    ].join('\n'),
    cause: error,
  });
}

/**
 * Decides what a failed poll means. `unknown`: a session without messages, which the service knows only from its first one on.
 * `late`: the message to read after is not visible yet. `outage`: worth another attempt.
 * @throws PartnerctlError that no further poll can mend
 */
export function judgeFailure(
  error: PartnerctlError,
  { wasRead, hasCursor, mayLag, once, baseUrl }: PolledSession,
): 'unknown' | 'late' | 'outage' {
  const isNotFound = error instanceof NotFoundError && !error.info.fromGateway && !wasRead;
  if (isNotFound && hasCursor && mayLag) return 'late';
  // The code of the service tells a source from a session.
  if (isNotFound && !hasCursor && !/source/i.test(error.info.code ?? '')) {
    // A service that takes the source under another name may say that the source was not found.
    if (once && missingIn404(error) !== 'session') throw noHistoryError(error, baseUrl);
    return 'unknown';
  }
  if (isFatal(error, wasRead)) throw error;
  return 'outage';
}

/** The error to end with after an outage of `maxOutageMs`. @param last the failure of the last poll */
export function outageError(last: PartnerctlError, maxOutageMs: number): PartnerctlError {
  const Kind = last instanceof RateLimitError ? RateLimitError : ServiceError;
  const isUnanswered = last instanceof ServiceError && last.info.status === undefined && !last.info.permanent;
  return new Kind(`The service has been out of reach for ${Math.round(maxOutageMs / 1000)} s.`, {
    ...last.info,
    why: [last.message, last.info.why].filter((line) => line !== undefined).join('\n'),
    // A poll has a time limit of its own, which --timeout does not extend.
    hint: isUnanswered
      ? 'Check the base URL and the network, then run the command again; -v shows every attempt.'
      : last.info.hint,
    cause: last,
  });
}
