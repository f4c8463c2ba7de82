import { errorCode, errorMessage } from './platform/error-code.ts';

/** The exit codes. Scripts depend on these numbers, so they never change. */
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
  changesPending: 12,
  differences: 13,
  unexpectedReply: 14,
  hungUp: 129,
  interrupted: 130,
  terminated: 143,
} as const;

export type ExitName = keyof typeof EXIT;
export type ExitCode = (typeof EXIT)[ExitName];

/** The exit codes of any command. */
export const COMMON_EXITS = ['ok', 'failure', 'usage', 'hungUp', 'interrupted', 'terminated'] as const;

/** The exit codes of any call to the service: `api/call-errors.ts` chooses the error of a response. */
export const SERVICE_EXITS: readonly ExitName[] = ['credentials', 'notFound', 'balance', 'rateLimited', 'service'];

/** The exit codes of access to a shared state. */
export const STATE_EXITS: readonly ExitName[] = ['credentials', 'service'];

/** Every value of `error.type` in JSON output. Scripts depend on these words, so they never change. */
export const ERROR_TYPES = [
  'usage',
  'invalid_input',
  'credentials',
  'not_found',
  'duplicate',
  'balance_too_low',
  'rate_limited',
  'refused',
  'service',
  'unexpected_shape',
  'state_unavailable',
  'outcome_unknown',
  'partial_failure',
  'plan_stale',
  'no_reply',
  'unexpected_reply',
  'local',
  'interrupted',
  'internal',
] as const;

export type ErrorType = (typeof ERROR_TYPES)[number];

export interface ErrorInfo {
  /** The cause, if the message does not state it. May have several lines. */
  readonly why?: string | undefined;
  readonly hint?: string | undefined;
  /** The HTTP status of the response that ended the call. */
  readonly status?: number | undefined;
  /** The service's own code, for example `organization_balance_too_low`. */
  readonly code?: string | undefined;
  readonly requestId?: string | undefined;
  /** Whether the response is a page or text, as a gateway sends it in place of the service's JSON. */
  readonly fromGateway?: boolean | undefined;
  /** The earliest time at which a retry can succeed, in ISO 8601. */
  readonly retryAt?: string | undefined;
  /** Whether a retry is pointless although most errors of this class are transient: a bad certificate, a redirect. */
  readonly permanent?: boolean | undefined;
  /** Machine-readable details for scripts, not shown to people. */
  readonly details?: unknown;
  readonly cause?: unknown;
}

/** The base class of all expected errors: the message tells what failed, `info` why and what to do next. */
export abstract class PartnerctlError extends Error {
  abstract readonly type: ErrorType;
  abstract readonly exitCode: ExitCode;
  readonly info: ErrorInfo;

  constructor(message: string, info: ErrorInfo = {}) {
    super(message, info.cause === undefined ? undefined : { cause: info.cause });
    this.info = info;
  }
}

function errorOf<Type extends ErrorType, Code extends ExitCode>(type: Type, exitCode: Code) {
  return class extends PartnerctlError {
    readonly type: Type = type;
    readonly exitCode: Code = exitCode;
  };
}

/** An argument, a flag, or an environment variable is invalid. Nothing was sent. */
export class UsageError extends errorOf('usage', EXIT.usage) {}

/** A file that the user supplied is invalid. Nothing was sent. */
export class InputError extends errorOf('invalid_input', EXIT.usage) {}

/** The token is missing, the service rejects it (401), or it lacks the permission (403). */
export class CredentialsError extends errorOf('credentials', EXIT.credentials) {}

/** The service does not know the resource (404), or no listed resource has the given name. */
export class NotFoundError extends errorOf('not_found', EXIT.notFound) {}

/** The contract of the service says that it has no such operation. Nothing was sent. */
export class NoOperationError extends UsageError {}

/** The organization's balance is below the service's minimum (402). Never retried. */
export class BalanceError extends errorOf('balance_too_low', EXIT.balance) {}

/** Whether an error is a 402, which every further call would get too. Also matches a wrapped 402. */
export function isBalanceTooLow(error: unknown): error is PartnerctlError {
  return error instanceof PartnerctlError && error.exitCode === EXIT.balance;
}

/** Whether an error is a 401, which every further call would get too. Also matches a wrapped 401. */
export function isTokenRejected(error: unknown): error is PartnerctlError {
  return error instanceof PartnerctlError && error.exitCode === EXIT.credentials && error.info.status === 401;
}

/** The rate limit (429) lasts longer than the deadline allows. */
export class RateLimitError extends errorOf('rate_limited', EXIT.rateLimited) {}

/** The service failed or was unreachable, even after retries. */
export class ServiceError extends errorOf('service', EXIT.service) {}

/** The response has an unexpected shape, which `details` describes. */
export class ShapeError extends errorOf('unexpected_shape', EXIT.service) {}

/** The response is not JSON: a gateway replaced it or cut it off. Says nothing about the service's API. */
export class NotJsonError extends ShapeError {}

/** A successful response without a body. Some services send it in place of an empty list. */
export class EmptyResponseError extends ShapeError {}

/** The body reports an error despite a success status. May be transient, and says nothing about the service's API. */
export class ErrorInSuccessBody extends ShapeError {}

/** A `once` request left this machine, but no response tells whether the write happened. */
export class OutcomeUnknownError extends errorOf('outcome_unknown', EXIT.unknown) {}

/** Whether a response contradicts the contract. A page in place of JSON, or an error in a success, does not. */
export function isUnexpectedShape(error: unknown): error is ShapeError {
  return error instanceof ShapeError && !(error instanceof NotJsonError || error instanceof ErrorInSuccessBody);
}

/** The scheduled job exists, may exist, or is being created. This command created nothing. */
export class DuplicateError extends errorOf('duplicate', EXIT.duplicate) {}

/** Whether the error of a `once` call proves that the call had no effect. A bug proves nothing. */
export function provesNothingDone(error: unknown): error is PartnerctlError {
  return error instanceof PartnerctlError && !(error instanceof OutcomeUnknownError);
}

/** The service refused the call with a 4xx that has no error class of its own. */
export class RefusedError extends errorOf('refused', EXIT.failure) {}

/** Something on this machine failed: a file that cannot be written, a command that cannot be started. */
export class LocalError extends errorOf<ErrorType, ExitCode>('local', EXIT.failure) {}

/** The result cannot be written, for example because the disk is full. What the command did stays done. */
export class OutputError extends LocalError {}

/** The shared store of the state (a database or a git server) failed or could not be reached. */
export class StateUnavailableError extends LocalError {
  override readonly type = 'state_unavailable';
  override readonly exitCode = EXIT.service;
}

/** The error of an object that was created, but whose id could not be recorded: later runs may find a state without it. */
export function unrecordedError(message: string, cause: unknown, info: Pick<ErrorInfo, 'hint' | 'details'>) {
  const why = cause instanceof PartnerctlError ? [cause.message, cause.info.why].filter(Boolean) : [String(cause)];
  const Unrecorded = cause instanceof StateUnavailableError ? OutcomeUnknownError : LocalError;
  return new Unrecorded(message, { ...info, why: why.join('\n'), cause });
}

/** Some or all replies did not arrive in time. */
export class NoReplyError extends errorOf('no_reply', EXIT.noReply) {}

/** An agent did not answer as a test expects. */
export class UnexpectedReplyError extends errorOf('unexpected_reply', EXIT.unexpectedReply) {}

/** At least one item of a batch failed and at least one succeeded. */
export class PartialFailure extends errorOf('partial_failure', EXIT.partial) {}

/** A space changed after the plan that is applied was made. Nothing was sent for it. */
export class PlanStaleError extends errorOf('plan_stale', EXIT.partial) {}

/** A failure with the type and the exit code of another error, the decisive one of several failed items for example. */
export class RunFailure extends PartnerctlError {
  readonly type: ErrorType;
  readonly exitCode: ExitCode;

  constructor(message: string, decisive: PartnerctlError, info: ErrorInfo) {
    super(message, { ...decisive.info, ...info });
    this.type = decisive.type;
    this.exitCode = decisive.exitCode;
  }
}

/** Ctrl-C (exit code 130), SIGTERM (143), or the end of the terminal's session (SIGHUP, 129) ended the command. */
export class InterruptedError extends PartnerctlError {
  readonly type = 'interrupted';
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = EXIT.interrupted, info: ErrorInfo = {}) {
    super(message, info);
    this.exitCode = exitCode;
  }
}

/** Whether the reason of an interruption is Ctrl-C, and not another signal. */
export function isCtrlC(reason: unknown): boolean {
  return reason instanceof InterruptedError && reason.exitCode === EXIT.interrupted;
}

/**
 * Returns a copy of the error with more information but the same type and exit code.
 * @param more a hint to append to the error's hint, and details to merge into its details
 */
export function withHint(
  error: PartnerctlError,
  more: { readonly hint?: string; readonly details?: Readonly<Record<string, unknown>> },
): PartnerctlError {
  const { info } = error;
  const own = typeof info.details === 'object' && info.details !== null ? info.details : {};
  const hint = [info.hint, more.hint].filter((each) => each !== undefined).join('\n') || undefined;
  const all: ErrorInfo = { ...info, hint, details: { ...own, ...more.details }, cause: error };
  if (error instanceof InterruptedError) return new InterruptedError(error.message, error.exitCode, all);
  return new RunFailure(error.message, error, all);
}

/** Returns the exit code for any thrown value: 1 for an unexpected error. */
export function exitCodeOf(error: unknown): ExitCode {
  return error instanceof PartnerctlError ? error.exitCode : EXIT.failure;
}

/** Describes why a file or directory cannot be read or written, as a clause without a period: `permission denied` */
export function describeFileError(error: unknown): string {
  const code = errorCode(error);
  if (code === 'ENOENT') return 'there is no such file or directory';
  if (code === 'EACCES' || code === 'EPERM') return 'permission denied';
  if (code === 'EROFS') return 'the file system is read-only';
  if (code === 'EEXIST') return 'there is a file of this name';
  if (code === 'EISDIR') return 'it is a directory';
  if (code === 'ENOTDIR') return 'a part of its path is a file, not a directory';
  if (code === 'ENOSPC') return 'the disk is full (ENOSPC)';
  return errorMessage(error);
}

/** Whether every further call of a run would fail the same way: 401, 402, and a state that cannot be reached. */
export function stopsRun(error: unknown): error is PartnerctlError {
  if (!(error instanceof PartnerctlError)) return false;
  const isStateUnavailable = error.type === 'state_unavailable' || error.info.cause instanceof StateUnavailableError;
  return isStateUnavailable || isBalanceTooLow(error) || isTokenRejected(error);
}
