import {
  BalanceError,
  CredentialsError,
  NotFoundError,
  NotJsonError,
  type PartnerctlError,
  RateLimitError,
  ServiceError,
} from '../errors.ts';
import { formatDuration } from '../platform/clock.ts';
import { shellQuote } from '../platform/text.ts';

/** Whether polling on is pointless: for a token or a balance always, for most answers only before a first page. */
export function isFatal(error: PartnerctlError, wasRead: boolean): boolean {
  if (error instanceof CredentialsError || error instanceof BalanceError) return true;
  const isPassing = error instanceof RateLimitError || error instanceof NotJsonError || error.info.fromGateway;
  if (wasRead || isPassing) return false;
  return !(error instanceof ServiceError) || error.info.permanent === true;
}

/** The error for a 404 that does not say that the session was not found. */
export function noHistoryError(error: NotFoundError, baseUrl: string): NotFoundError {
  const hint = `If the session has messages, say how a history is read: partnerctl contract import ${shellQuote(baseUrl)}
Or: partnerctl contract set messages.history '<METHOD> <path>', such as GET /sessions/{session_id}/messages/`;
  return new NotFoundError(error.message, { ...error.info, hint, cause: error });
}

/** The error to end with after an outage of `maxOutageMs`. @param last the failure of the last poll */
export function outageError(last: PartnerctlError, maxOutageMs: number): PartnerctlError {
  const Kind = last instanceof RateLimitError ? RateLimitError : ServiceError;
  return new Kind(`The service has been out of reach for ${formatDuration(maxOutageMs)}.`, {
    ...last.info,
    why: [last.message, last.info.why].filter((line) => line !== undefined).join('\n'),
    hint: last.info.hint ?? 'Check the base URL and the network, then run the command again; -v shows every attempt.',
    cause: last,
  });
}
