import {
  EmptyResponseError,
  InterruptedError,
  isTokenRejected,
  NoOperationError,
  PartnerctlError,
  RunFailure,
  ServiceError,
} from '../errors.ts';

/** The service does not let this token read a list, or has no such list. Only the state can tell what exists. */
export class ListUnavailable extends Error {
  readonly reason: PartnerctlError;
  /** Whether the service says that it has no such list (404, 405, 501). */
  readonly isAbsent: boolean;

  constructor(reason: PartnerctlError) {
    super(reason.message);
    this.reason = reason;
    this.isAbsent = ABSENT.has(reason.info.status);
  }
}

const ABSENT: ReadonlySet<number | undefined> = new Set([404, 405, 501]);
const NO_CONTENT = 204;

/** A list on which a write depends. */
export interface DecisiveList {
  /** For messages: `the list of jobs`. */
  readonly name: string;
  /** Whether an earlier read succeeded. Then the service has the list, but may forbid it meanwhile. */
  readonly wasRead: boolean;
  /** Whether a page arrived before the failure. Then this token may read the list. */
  readonly isPartlyRead: boolean;
}

/**
 * Decides what the failure of a list means. If the service itself says that the token may not read the list,
 * that it has no such list, or nothing at all, the list is unavailable. Every other failure may pass or hide something,
 * so that a write has to wait: above all a gateway's response in place of the service's.
 * @returns ListUnavailable; a ServiceError if only a failure can explain the response; otherwise the error itself
 */
export function toListFailure(error: unknown, { name, wasRead, isPartlyRead }: DecisiveList): unknown {
  if (!(error instanceof PartnerctlError)) return error;
  const { info } = error;
  const unavailable = new ListUnavailable(error);
  if (error instanceof NoOperationError) return unavailable;
  const isForbidden = info.status === 401 || info.status === 403;
  const saysNothing = error instanceof EmptyResponseError && info.status === NO_CONTENT;
  if (!isForbidden && !unavailable.isAbsent && !saysNothing) return error;
  // A token that expired or was revoked meanwhile says nothing about the list.
  if (isTokenRejected(error) && !info.fromGateway && (wasRead || isPartlyRead)) return error;
  const problem = info.fromGateway
    ? `Cannot read ${name}: a gateway responded in place of the service`
    : isPartlyRead
      ? `Cannot read the rest of ${name}`
      : wasRead && unavailable.isAbsent
        ? `Cannot read ${name}, although it was read before`
        : undefined;
  if (problem === undefined) return unavailable;
  return new ServiceError(`${problem} (${info.status}).`, {
    ...info,
    hint: 'Run the command again later. If it fails again, check the base URL and any gateway in front of the service.',
    cause: error,
  });
}

/**
 * Returns the error of a failed list with a message that names the list, and a hint for the command.
 * @param hint what the failure means for the command; undefined if the caller says it
 */
export function nameListFailure(error: unknown, name: string, hint: string | undefined): unknown {
  if (!(error instanceof PartnerctlError) || error instanceof InterruptedError) return error;
  const { message, info } = error;
  const hints = [info.hint, hint].filter((each) => each !== undefined);
  const named = message.includes(name) ? message : `Cannot read ${name}: ${message}`;
  return new RunFailure(named, error, { hint: hints.join('\n') });
}
