/** What each exit code means. Scripts branch on these numbers, so they never change. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  credentials: 3,
  notFound: 4,
  duplicate: 5,
  balance: 6,
  rateLimited: 7,
  service: 8,
  unknown: 9,
  partial: 10,
  noReply: 11,
  interrupted: 130,
  terminated: 143,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export interface ErrorInfo {
  /** Why it failed, when the message alone does not say. May hold several lines. */
  readonly why?: string | undefined;
  /** What to do next. */
  readonly hint?: string | undefined;
  /** The HTTP status of the answer that ended the call. */
  readonly status?: number | undefined;
  /** The service's own code, for example `organization_balance_too_low`. */
  readonly code?: string | undefined;
  readonly requestId?: string | undefined;
  /** ISO 8601 moment before which a repeat is pointless. */
  readonly retryAt?: string | undefined;
  /** True where a repeat cannot mend it, though its class often passes by itself: a certificate, a redirect. */
  readonly permanent?: boolean | undefined;
  /** Anything machine-readable that belongs to the error; for scripts, not shown to people. */
  readonly details?: unknown;
  readonly cause?: unknown;
}

/**
 * The base of every failure that the program foresees: what failed (message), why, and what to do next.
 * `main.ts` is the only place that turns one into text and an exit code.
 */
export abstract class PartnerctlError extends Error {
  /** The stable name that scripts find at `error.type`. */
  abstract readonly type: string;
  abstract readonly exitCode: ExitCode;
  readonly info: ErrorInfo;

  constructor(message: string, info: ErrorInfo = {}) {
    super(message, info.cause === undefined ? undefined : { cause: info.cause });
    this.info = info;
  }
}

/** The words typed, a flag, or an environment variable are wrong. Nothing was sent. */
export class UsageError extends PartnerctlError {
  readonly type = 'usage';
  readonly exitCode = EXIT.usage;
}

/** A file that the user supplied is wrong. Nothing was sent. */
export class InputError extends PartnerctlError {
  readonly type = 'invalid_input';
  readonly exitCode = EXIT.usage;
}

/** No token, a token that the service does not accept (401), or one that may not do this (403). */
export class CredentialsError extends PartnerctlError {
  readonly type = 'credentials';
  readonly exitCode = EXIT.credentials;
}

export class NotFoundError extends PartnerctlError {
  readonly type = 'not_found';
  readonly exitCode = EXIT.notFound;
}

/** 402: the organization's balance is under the service's minimum. Never retried. */
export class BalanceError extends PartnerctlError {
  readonly type = 'balance_too_low';
  readonly exitCode = EXIT.balance;
}

/** Whether it was a 402, whatever more was said about it since: it is the answer to everything. */
export function isBalanceTooLow(error: unknown): error is PartnerctlError {
  return error instanceof PartnerctlError && error.exitCode === EXIT.balance;
}

/** Whether it was a 401, whatever more was said about it since: no call goes through with this token. */
export function isTokenRejected(error: unknown): error is PartnerctlError {
  return error instanceof PartnerctlError && error.exitCode === EXIT.credentials && error.info.status === 401;
}

/** Whether it was a 429, whatever more was said about it since. */
export function isRateLimited(error: unknown): error is PartnerctlError {
  return error instanceof PartnerctlError && error.exitCode === EXIT.rateLimited;
}

/** 429, and waiting for the limit to pass would have taken longer than the deadline allows. */
export class RateLimitError extends PartnerctlError {
  readonly type = 'rate_limited';
  readonly exitCode = EXIT.rateLimited;
}

/** The service failed or could not be reached, after retries. */
export class ServiceError extends PartnerctlError {
  readonly type = 'service';
  readonly exitCode = EXIT.service;
}

/** The service answered in a shape that no assumption covers; `details` says what came. */
export class ShapeError extends PartnerctlError {
  readonly type = 'unexpected_shape';
  readonly exitCode = EXIT.service;
}

/** What came is no JSON. Mostly a gateway put it in place of the answer, or it was cut; it says nothing of the service's shapes. */
export class NotJsonError extends ShapeError {}

/** The body says that the call failed, though its status does not: that may pass, and says nothing of the service's shapes. */
export class ErrorInSuccessBody extends ShapeError {}

/**
 * A write may or may not have happened. Every open end of a `once` call is one: it left, and no answer came that tells
 * what it did. Every other PartnerctlError of such a call proves that it did nothing (see `provesNothingDone`).
 */
export class OutcomeUnknownError extends PartnerctlError {
  readonly type = 'outcome_unknown';
  readonly exitCode = EXIT.unknown;
}

/** The scheduled job is there already, or one that would be taken for it. Nothing was created. */
export class DuplicateError extends PartnerctlError {
  readonly type = 'duplicate';
  readonly exitCode = EXIT.duplicate;
}

/**
 * Whether the error that a `once` call ended with proves that the call did nothing: the service refused it with a 4xx,
 * or it never left this machine. What is not one of ours is a bug, and proves nothing.
 */
export function provesNothingDone(error: unknown): error is PartnerctlError {
  return error instanceof PartnerctlError && !(error instanceof OutcomeUnknownError);
}

/** The service understood the call and refused it (a 4xx with no class of its own). */
export class RefusedError extends PartnerctlError {
  readonly type = 'refused';
  readonly exitCode = EXIT.failure;
}

/** Something on this machine failed: a file that cannot be written, a command that cannot be started. */
export class LocalError extends PartnerctlError {
  readonly type = 'local';
  readonly exitCode = EXIT.failure;
}

/** It was waited for, and no reply, or not all of them, came in time. */
export class NoReplyError extends PartnerctlError {
  readonly type = 'no_reply';
  readonly exitCode = EXIT.noReply;
}

/** Some of several items failed; the rest are done. The items' own errors are in the answer. */
export class PartialFailure extends PartnerctlError {
  readonly type = 'partial_failure';
  readonly exitCode = EXIT.partial;
}

/** Several items failed, and one of them decides how the run ends. */
export class RunFailure extends PartnerctlError {
  readonly type: string;
  readonly exitCode: ExitCode;

  constructor(message: string, decisive: PartnerctlError, info: ErrorInfo) {
    super(message, { ...decisive.info, ...info });
    this.type = decisive.type;
    this.exitCode = decisive.exitCode;
  }
}

/** Ended by Ctrl-C (130) or SIGTERM (143). */
export class InterruptedError extends PartnerctlError {
  readonly type = 'interrupted';
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = EXIT.interrupted, info: ErrorInfo = {}) {
    super(message, info);
    this.exitCode = exitCode;
  }
}

class HintedError extends PartnerctlError {
  readonly type: string;
  readonly exitCode: ExitCode;

  constructor(error: PartnerctlError, info: ErrorInfo) {
    super(error.message, info);
    this.type = error.type;
    this.exitCode = error.exitCode;
  }
}

/**
 * The same failure with more to say about it: its type and exit code stay.
 * @param more a further hint, which follows the failure's own, and details, which join its own
 */
export function withHint(
  error: PartnerctlError,
  more: { readonly hint?: string; readonly details: Readonly<Record<string, unknown>> },
): PartnerctlError {
  const { info } = error;
  const own = typeof info.details === 'object' && info.details !== null ? info.details : {};
  const hints = [info.hint, more.hint].filter((hint) => hint !== undefined);
  const hint = hints.length === 0 ? undefined : hints.join('\n');
  const all: ErrorInfo = { ...info, hint, details: { ...own, ...more.details }, cause: error };
  if (error instanceof InterruptedError) return new InterruptedError(error.message, error.exitCode, all);
  return new HintedError(error, all);
}

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

/** The reason in words goes with the details, so that scripts lose nothing of it. */
function detailsOf({ details, why }: ErrorInfo): unknown {
  if (why === undefined) return details ?? null;
  if (typeof details === 'object' && details !== null && !Array.isArray(details)) return { ...details, why };
  return details ?? { why };
}

/**
 * The fixed shape in which scripts see an error, on stderr and inside results.
 * @param error anything thrown; what is not ours is reported as `internal`.
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

/** The exit code that an error ends the process with; a bug is 1. */
export function exitCodeOf(error: unknown): ExitCode {
  return error instanceof PartnerctlError ? error.exitCode : EXIT.failure;
}
