import { isForeign } from '../api/session-check.ts';
import {
  BalanceError,
  CredentialsError,
  NotFoundError,
  NotJsonError,
  type PartnerctlError,
  RateLimitError,
  ServiceError,
} from '../errors.ts';
import { type Clock, formatDuration } from '../platform/clock.ts';
import { shellQuote } from '../platform/text.ts';

/** An outage is reported after this many failures in a row, or after this time. */
const MIN_FAILURES = 3;
const MIN_FAILING_MS = 10_000;

/** The failing sessions of a command, as one outage with one start and one end. */
export class Health {
  private readonly clock: Pick<Clock, 'now'>;
  private readonly maxOutageMs: number;
  private readonly failing = new Map<string, { readonly since: number; readonly count: number }>();
  private reportedSince: number | undefined;
  private missed = 0;
  /** The last failure, while a session fails. */
  lastError: PartnerctlError | undefined;

  constructor(clock: Pick<Clock, 'now'>, maxOutageMs: number) {
    this.clock = clock;
    this.maxOutageMs = maxOutageMs;
  }

  /** Returns how many polls of the session have failed in a row. */
  failuresOf(session: string): number {
    return this.failing.get(session)?.count ?? 0;
  }

  /** Returns how long an outage that lasts may still take, in milliseconds. */
  leftMs(): number {
    return this.since() + this.maxOutageMs - this.clock.now();
  }

  /** @param last the failure of the last poll @throws RateLimitError or ServiceError if the outage took too long */
  check(last: PartnerctlError): void {
    if (this.leftMs() > 0) return;
    const Kind = last instanceof RateLimitError ? RateLimitError : ServiceError;
    throw new Kind(`The service has been out of reach for ${formatDuration(this.maxOutageMs)}.`, {
      ...last.info,
      why: [last.message, last.info.why].filter((line) => line !== undefined).join('\n'),
      hint: last.info.hint ?? 'Check the base URL and the network, then run the command again; -v shows every attempt.',
      cause: last,
    });
  }

  /** Records a failed poll that began at `startedAt`. @returns whether to report an outage now */
  fail(session: string, error: PartnerctlError, startedAt: number): boolean {
    this.lastError = error;
    const { since, count } = this.failing.get(session) ?? { since: startedAt, count: 0 };
    this.failing.set(session, { since, count: count + 1 });
    const isOutage = count + 1 >= MIN_FAILURES || this.clock.now() - since >= MIN_FAILING_MS;
    if (!isOutage || this.reportedSince !== undefined) return false;
    this.reportedSince = this.since();
    return true;
  }

  /** Records new messages of a response that may not be complete: the failures before them do not count. */
  arrive(session: string, count: number): void {
    if (this.failing.size > 0) this.missed += count;
    if (this.failing.has(session)) this.failing.set(session, { since: this.clock.now(), count: 0 });
  }

  /** Records a complete response, or that a session is not followed anymore. @returns the end of an outage */
  succeed(session: string): { readonly outageMs: number; readonly missed: number } | undefined {
    this.failing.delete(session);
    if (this.failing.size > 0) return undefined;
    const { reportedSince, missed } = this;
    this.lastError = undefined;
    this.reportedSince = undefined;
    this.missed = 0;
    return reportedSince === undefined ? undefined : { outageMs: this.clock.now() - reportedSince, missed };
  }

  /** When the session that fails longest began to fail; now if none fails. */
  private since(): number {
    return Math.min(this.clock.now(), ...[...this.failing.values()].map(({ since }) => since));
  }
}

/**
 * Whether polling on is pointless: for a token, a balance, and messages of other sessions always, for most answers only
 * before a first page.
 */
export function isFatal(error: PartnerctlError, wasRead: boolean): boolean {
  if (error instanceof CredentialsError || error instanceof BalanceError || isForeign(error)) return true;
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
