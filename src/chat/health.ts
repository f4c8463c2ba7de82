import { pagingFixes } from '../api/page-errors.ts';
import { isForeign } from '../api/session-check.ts';
import {
  BalanceError,
  CredentialsError,
  NotFoundError,
  NotJsonError,
  type PartnerctlError,
  RateLimitError,
  ServiceError,
  ShapeError,
} from '../errors.ts';
import { type Clock, formatDuration } from '../platform/clock.ts';
import { shellQuote } from '../platform/text.ts';

/** An outage is reported after this many failures in a row, or after this time. */
const MIN_FAILURES = 3;
const MIN_FAILING_MS = 10_000;

interface Failing {
  /** How many requests have failed in a row. */
  readonly count: number;
  /** How long they took, with the pauses after them. The machine's sleep does not count. */
  readonly ms: number;
}

/** The failing sessions of a command, as one outage with one start and one end. */
export class Health {
  private readonly clock: Pick<Clock, 'now'>;
  private readonly maxOutageMs: number;
  private readonly failing = new Map<string, Failing>();
  private reportedSince: number | undefined;
  private isReported = false;
  private missed = 0;
  /** The last failure, while a session fails. */
  lastError: PartnerctlError | undefined;

  constructor(clock: Pick<Clock, 'now'>, maxOutageMs: number) {
    this.clock = clock;
    this.maxOutageMs = maxOutageMs;
  }

  failuresOf(session: string): number {
    return this.failing.get(session)?.count ?? 0;
  }

  /** Returns how long an outage that lasts may still take, in milliseconds. */
  leftMs(): number {
    return this.maxOutageMs - Math.max(0, ...[...this.failing.values()].map(({ ms }) => ms));
  }

  /**
   * The error for an outage that takes too long.
   * @param last the failure of the last request @param askedMs how long a pause the service asks for, if that is too long
   */
  outageError(last: PartnerctlError, askedMs?: number): PartnerctlError {
    const Kind = last instanceof RateLimitError ? RateLimitError : ServiceError;
    const limit = formatDuration(this.maxOutageMs);
    const isAsked = askedMs !== undefined;
    const message = isAsked
      ? `The service asks for a pause of ${formatDuration(Math.ceil(askedMs / 1000) * 1000)}; an outage may last ${limit}.`
      : `The service has been out of reach for ${limit}.`;
    const fallback = 'Check the base URL and the network, then run the command again; -v shows every attempt.';
    return new Kind(message, {
      ...last.info,
      why: [last.message, last.info.why].filter((line) => line !== undefined).join('\n'),
      hint: isAsked ? `Run the command again after ${last.info.retryAt}.` : (last.info.hint ?? fallback),
      cause: last,
    });
  }

  /** Records a failed request. @param ms how long it took, with the pause after it @returns whether to report an outage now */
  fail(session: string, error: PartnerctlError, ms: number): boolean {
    this.lastError = error;
    const before = this.failing.get(session) ?? { count: 0, ms: 0 };
    const now = { count: before.count + 1, ms: before.ms + ms };
    this.failing.set(session, now);
    if (this.isReported || (now.count < MIN_FAILURES && now.ms < MIN_FAILING_MS)) return false;
    this.reportedSince ??= this.clock.now();
    this.isReported = true;
    return true;
  }

  /** Records a page, which may not be the last: the failures before it do not count, and a further pause is reported. */
  arrive(session: string, fresh: number): void {
    if (this.failing.size === 0) return;
    this.missed += fresh;
    if (!this.failing.has(session)) return;
    this.failing.set(session, { count: 0, ms: 0 });
    this.isReported = false;
  }

  /** Records a complete response, or that a session is not followed anymore. @returns the end of an outage */
  succeed(session: string): { readonly outageMs: number; readonly missed: number } | undefined {
    this.failing.delete(session);
    if (this.failing.size > 0) return undefined;
    const { reportedSince, missed } = this;
    this.lastError = undefined;
    this.reportedSince = undefined;
    this.isReported = false;
    this.missed = 0;
    return reportedSince === undefined ? undefined : { outageMs: this.clock.now() - reportedSince, missed };
  }
}

/** Whether asking again may help: after failures of the network, a gateway, and the service, and under a rate limit. */
export function isPassing(error: PartnerctlError): boolean {
  if (error instanceof RateLimitError || error instanceof NotJsonError || error.info.fromGateway) return true;
  return error instanceof ServiceError && error.info.permanent !== true;
}

/**
 * Whether polling on is pointless: for a token, a balance, and messages of other sessions always, for most answers only
 * before a first page.
 */
export function isFatal(error: PartnerctlError, wasRead: boolean): boolean {
  if (error instanceof CredentialsError || error instanceof BalanceError || isForeign(error)) return true;
  return !wasRead && !isPassing(error);
}

/** The error for a 404 that does not say that the session was not found. */
export function noHistoryError(error: NotFoundError, baseUrl: string): NotFoundError {
  const hint = `If the session has messages, say how a history is read: partnerctl contract import ${shellQuote(baseUrl)}
Or: partnerctl contract set messages.history '<METHOD> <path>', such as GET /sessions/{session_id}/messages/`;
  return new NotFoundError(error.message, { ...error.info, hint, cause: error });
}

/** The error for a history that is not whole. @param seen what tells */
export function incompleteHistory(session_id: string, seen: string): ShapeError {
  return new ShapeError(`The history of ${session_id} could not be read completely.`, {
    why: seen,
    hint: `The messages shown may not be all. ${pagingFixes('messages.history')}`,
    details: { session_id, leaf: 'messages.history.next', seen },
  });
}
