import {
  EmptyResponseError,
  InterruptedError,
  isTokenRejected,
  NoOperationError,
  PartnerctlError,
  RunFailure,
  ServiceError,
} from '../errors.ts';

/** The token may not read the list, or there is none. */
const UNAVAILABLE: ReadonlySet<number | undefined> = new Set([401, 403, 404, 405, 501]);

/** The service does not let this token read a list, or has no such list. Only the state can tell what exists. */
export class ListUnavailable extends Error {
  readonly reason: PartnerctlError;

  constructor(reason: PartnerctlError) {
    super(reason.message);
    this.reason = reason;
  }
}

/**
 * Returns ListUnavailable if the service itself says that the token may not read a list, that it has no such list, or
 * nothing at all (204). Every other failure may pass or hide something: the error itself, or a ServiceError.
 * @param wasRead whether this command read the list, or a page of it, before: then there is one, which this token may read
 */
export function toListFailure(error: unknown, name: string, wasRead: boolean): unknown {
  if (!(error instanceof PartnerctlError)) return error;
  const { status, fromGateway } = error.info;
  if (error instanceof NoOperationError) return new ListUnavailable(error);
  const saysNothing = error instanceof EmptyResponseError && status === 204;
  if (!UNAVAILABLE.has(status) && !saysNothing) return error;
  if (!fromGateway && !wasRead) return new ListUnavailable(error);
  // A token that expired or was revoked meanwhile says nothing about the list.
  if (isTokenRejected(error) && !fromGateway) return error;
  const reason = fromGateway ? 'a gateway responded in place of the service' : 'it was read before';
  return new ServiceError(`Cannot read ${name} (${status}), but ${reason}.`, {
    ...error.info,
    hint: 'Run the command again later. If it fails again, check the base URL and any gateway in front of the service.',
    cause: error,
  });
}

/** Returns the error of a failed list with a message that names the list, and a hint for the command. */
export function nameListFailure(error: unknown, name: string, hint: string): unknown {
  if (!(error instanceof PartnerctlError) || error instanceof InterruptedError) return error;
  const { message, info } = error;
  const named = message.includes(name) ? message : `Cannot read ${name}: ${message}`;
  return new RunFailure(named, error, { hint: [info.hint, hint].filter(Boolean).join('\n') });
}
